"""Worlds first run after Laplace noise and every constant of today's policy cautious had been settled.

`unseen.py` was that once; its worlds have been looked at since.
"""

from __future__ import annotations

import numpy as np

from hushprice.shops import worlds
from shops.designed import TODAY, Case, classes, customers, shop

_LEVELS = tuple(np.random.default_rng(41).normal(0.0, 0.4, 9).tolist())
_RESPONSES = tuple(np.random.default_rng(42).normal(0.0, 0.3, 9).tolist())
_logit = customers(_LEVELS, _RESPONSES)


def cases(horizon: int) -> dict[str, Case]:
    """All of them; those that change do so at half the horizon, or evenly over it."""
    many = worlds.Logit(
        conversion=0.05,
        elasticity=1.6,
        reference_price=TODAY,
        attributes=tuple(np.random.default_rng(43).normal(0.0, 0.25, 20).tolist()),
        interactions=tuple(np.random.default_rng(44).normal(0.0, 0.2, 20).tolist()),
        crowd=worlds.uniform(20),
    )
    alone = worlds.Logit(conversion=0.03, elasticity=0.5, reference_price=TODAY)
    probit = worlds.Probit(
        conversion=0.025, reference_price=TODAY, steepness=0.9, attributes=_LEVELS, crowd=worlds.mixed
    )
    willing = worlds.LogNormal(
        conversion=0.12, reference_price=TODAY, deviation=0.6, attributes=_LEVELS, crowd=worlds.mixed
    )
    return {
        "logit, 4 % buy, elastic": Case(shop(conversion=0.05), _logit(2.0, 0.04)),
        "logit, 1 % buy, inelastic": Case(shop(conversion=0.01), _logit(0.4, 0.01)),
        "three times the guess": Case(shop(conversion=0.02), _logit(1.4, 0.055)),
        "probit, 2.5 % buy": Case(shop(conversion=0.03), probit),
        "log-normal, 12 % buy, 0.4 to 2x": Case(shop(floor=10.0, ceiling=50.0, conversion=0.1), willing),
        "classes, 25 % buy": Case(shop(conversion=0.25), classes((0.5, 0.2, 0.1), (0.7, 1.8, 3.0), seed=23)),
        "twenty entries": Case(shop(conversion=0.05, contexts=20), many),
        "no attributes": Case(shop(conversion=0.03, contexts=0), alone),
        "jump to flat": Case(
            shop(), worlds.Jump(before=_logit(2.4, 0.02), after=_logit(0.4, 0.02), at=horizon // 2), midway=True
        ),
        "drift back": Case(
            shop(), worlds.Drift(before=_logit(2.0, 0.02), after=_logit(0.7, 0.02), over=horizon), midway=True
        ),
    }
