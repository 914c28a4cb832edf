"""Ten worlds written before today's version of policy cautious was begun, and first run after its last change.

`designed.py`, `unseen.py`, `fresh.py` and `held_back.py` have all been looked at.
"""

from __future__ import annotations

import numpy as np

from hushprice.shops import worlds
from hushprice.types import FloatArray
from shops.designed import TODAY, Case, classes, customers, shop

_LEVELS = tuple(np.random.default_rng(611).normal(0.0, 0.45, 9).tolist())
_RESPONSES = tuple(np.random.default_rng(612).normal(0.0, 0.3, 9).tolist())
_logit = customers(_LEVELS, _RESPONSES)


def _drawn(seed: int, deviation: float, entries: int) -> tuple[float, ...]:
    return tuple(np.random.default_rng(seed).normal(0.0, deviation, entries).tolist())


def _members(start: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Members and others, who differ in all of five entries."""
    member = rng.random((count, 1)) < 0.3
    return np.clip(np.where(member, 0.6, -0.3) + rng.normal(0.0, 0.25, (count, 5)), -1.0, 1.0)


def cases(horizon: int) -> dict[str, Case]:
    """All of them; those that change do so at half the horizon, or evenly over it."""
    members = worlds.Logit(
        conversion=0.035, elasticity=1.3, reference_price=TODAY,
        attributes=_drawn(613, 0.4, 5), interactions=_drawn(614, 0.4, 5), crowd=_members,
    )  # fmt: skip
    many = worlds.Probit(
        conversion=0.06, reference_price=TODAY, steepness=1.1, attributes=_drawn(615, 0.25, 16),
        crowd=worlds.uniform(16),
    )  # fmt: skip
    willing = worlds.LogNormal(
        conversion=0.07, reference_price=TODAY, deviation=0.7, attributes=_drawn(616, 0.4, 3), crowd=worlds.uniform(3)
    )
    half = worlds.Logit(
        conversion=0.55, elasticity=1.0, reference_price=TODAY, attributes=_drawn(617, 0.7, 4),
        interactions=_drawn(618, 0.35, 4), crowd=worlds.uniform(4),
    )  # fmt: skip
    return {
        "members, 3.5 % buy": Case(shop(conversion=0.025, contexts=5), members),
        "logit, half buy, 0.4 to 2x": Case(shop(floor=10.0, ceiling=50.0, conversion=0.5, contexts=4), half),
        "probit, sixteen entries, 6 % buy": Case(shop(conversion=0.08, contexts=16), many),
        "log-normal, 7 % buy, 0 to 2.4x": Case(shop(floor=0.0, ceiling=60.0, conversion=0.08, contexts=3), willing),
        "classes, 10 % buy": Case(shop(conversion=0.08), classes((0.22, 0.08, 0.03), (0.5, 1.4, 2.8), seed=619)),
        "cost, 1 % buy": Case(shop(unit_cost=10.0, conversion=0.01), _logit(1.2, 0.012)),
        "jump to elastic, 3 % buy": Case(
            shop(conversion=0.03),
            worlds.Jump(before=_logit(0.8, 0.03), after=_logit(2.2, 0.03), at=horizon // 2),
            midway=True,
        ),
        "drift, 8 % buy": Case(
            shop(conversion=0.08),
            worlds.Drift(before=_logit(1.8, 0.08), after=_logit(0.9, 0.06), over=horizon),
            midway=True,
        ),
        "season, 1.5 % buy": Case(
            shop(conversion=0.02), worlds.Season(world=_logit(2.0, 0.015), period=9_000, size=0.35)
        ),
        "competitors, 40 % buy": Case(
            shop(conversion=0.35),
            worlds.Competitors(world=_logit(0.8, 0.4), every=4_000, deviation=0.2, weight=1.0, seed=620),
        ),
    }
