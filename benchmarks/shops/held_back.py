"""Worlds held back: run once, after the last change of the policy's constants.

`designed.py`, `unseen.py` and `fresh.py` have all been looked at.
"""

from __future__ import annotations

import numpy as np

from hushprice.shops import worlds
from hushprice.types import FloatArray
from shops.designed import TODAY, Case, classes, customers, shop

_LEVELS = tuple(np.random.default_rng(91).normal(0.0, 0.35, 9).tolist())
_RESPONSES = tuple(np.random.default_rng(92).normal(0.0, 0.35, 9).tolist())
_logit = customers(_LEVELS, _RESPONSES)


def _heavy(entries: int, start: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Correlated entries with heavy tails, held to [-1, 1] as a shop's schema holds them."""
    shared = rng.standard_t(3, (count, 1))
    return np.clip((0.6 * shared + rng.standard_t(3, (count, entries))) / 6.0, -1.0, 1.0)


def _eleven(start: int, count: int, rng: np.random.Generator) -> FloatArray:
    return _heavy(11, start, count, rng)


def _categories(start: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Four categories in 32 entries of 0 and 1: at most one entry of each eight is 1."""
    rows = np.zeros((count, 32))
    for category in range(4):
        shares = 0.55 ** np.arange(9)
        level = rng.choice(9, count, p=shares / shares.sum())
        named = level > 0
        rows[np.arange(count)[named], 8 * category + level[named] - 1] = 1.0
    return rows


def _drawn(seed: int, deviation: float, entries: int) -> tuple[float, ...]:
    return tuple(np.random.default_rng(seed).normal(0.0, deviation, entries).tolist())


def cases(horizon: int) -> dict[str, Case]:
    """All of them; those that change do so at half the horizon, or evenly over it."""
    many = worlds.Logit(
        conversion=0.08, elasticity=2.4, reference_price=TODAY,
        attributes=_drawn(93, 0.4, 32), interactions=_drawn(94, 0.3, 32), crowd=_categories,
    )  # fmt: skip
    tails = worlds.Probit(
        conversion=0.2, reference_price=TODAY, steepness=0.8, attributes=_drawn(95, 0.8, 11), crowd=_eleven
    )
    wide = worlds.LogNormal(
        conversion=0.04, reference_price=TODAY, deviation=0.8, attributes=_drawn(96, 0.4, 4), crowd=worlds.uniform(4)
    )
    return {
        "logit, 0.1 % buy": Case(shop(conversion=0.001), _logit(1.7, 0.0013)),
        "logit, 80 % buy": Case(shop(conversion=0.75), _logit(0.5, 0.8)),
        "32 entries of categories, 8 % buy": Case(shop(conversion=0.06, contexts=32), many),
        "probit, 20 % buy, heavy tails": Case(shop(conversion=0.2, contexts=11), tails),
        "log-normal, 4 % buy, 0 to 3x": Case(
            shop(floor=0.0, ceiling=75.0, conversion=0.05, contexts=4), wide
        ),
        "logit, half buy, 0 to 4x": Case(
            shop(floor=0.0, ceiling=100.0, conversion=0.5, contexts=2),
            worlds.Logit(conversion=0.4, elasticity=1.3, reference_price=TODAY, attributes=(0.6, -0.4)),
        ),
        "classes, 3 % buy": Case(shop(conversion=0.03), classes((0.06, 0.03, 0.01), (0.6, 1.5, 3.5), seed=97)),
        "95 % buy, 0.5 to 1.5x": Case(
            shop(floor=12.5, ceiling=37.5, conversion=0.95, contexts=1),
            worlds.Logit(conversion=0.93, elasticity=0.4, reference_price=TODAY, attributes=(0.5,)),
        ),
        "2 % buy, +-5 %": Case(shop(floor=23.75, ceiling=26.25), _logit(2.2, 0.02)),
        "cost, 5 % buy": Case(shop(unit_cost=15.0, conversion=0.05), _logit(3.5, 0.05)),
        "jump up": Case(
            shop(conversion=0.05), worlds.Jump(before=_logit(0.6, 0.05), after=_logit(2.6, 0.04), at=horizon // 2),
            midway=True,
        ),
        "jump, half buy": Case(
            shop(conversion=0.5), worlds.Jump(before=_logit(0.3, 0.5), after=_logit(1.8, 0.5), at=horizon // 2),
            midway=True,
        ),
        "drift away": Case(
            shop(conversion=0.04), worlds.Drift(before=_logit(2.4, 0.04), after=_logit(0.5, 0.06), over=horizon),
            midway=True,
        ),
        "season, 6 % buy": Case(
            shop(conversion=0.06), worlds.Season(world=_logit(0.7, 0.06), period=11_000, size=0.5)
        ),
        "competitors, 3 % buy": Case(
            shop(conversion=0.03),
            worlds.Competitors(world=_logit(2.0, 0.03), every=3_500, deviation=0.2, weight=1.2, seed=9),
        ),
    }  # fmt: skip
