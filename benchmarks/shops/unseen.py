"""Worlds that had no part in choosing the constants of policy cautious: first run when all was chosen."""

from __future__ import annotations

import numpy as np

from hushprice.shops import worlds
from hushprice.types import FloatArray
from shops.designed import LEVELS, TODAY, Case, classes, logit, shop


def _profiles(start: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Five kinds of customers, and nothing between."""
    kinds = np.random.default_rng(5).uniform(-1.0, 1.0, (5, 9))
    return np.asarray(kinds[rng.choice(5, count, p=(0.4, 0.25, 0.2, 0.1, 0.05))])


def cases(horizon: int) -> dict[str, Case]:
    """All of them; those that change do so at half the horizon, or evenly over it."""
    few = worlds.Logit(
        conversion=0.03,
        elasticity=1.8,
        reference_price=TODAY,
        attributes=(0.4,) * 3 + (-0.3,) * 6,
        interactions=(0.3, -0.3) * 4 + (0.2,),
        crowd=_profiles,
    )
    probit = worlds.Probit(
        conversion=0.1,
        reference_price=TODAY,
        steepness=1.4,
        attributes=tuple(0.4 * x for x in LEVELS),
        crowd=worlds.mixed,
    )
    return {
        "probit, 10 % buy": Case(shop(conversion=0.1), probit),
        "groceries, 1.75 % buy": Case(shop(), classes((0.03, 0.012, 0.008), (0.2, 0.5, 0.9), seed=7)),
        "a third of the guess": Case(shop(conversion=0.06), logit(2.2)),
        "five profiles": Case(shop(conversion=0.03), few),
        "season": Case(shop(), worlds.Season(world=logit(1.6), period=7_000, size=0.4)),
        "competitors": Case(
            shop(conversion=0.1),
            worlds.Competitors(world=logit(1.5, conversion=0.1), every=2_000, deviation=0.15, weight=1.5),
        ),
        "drift": Case(shop(), worlds.Drift(before=logit(0.6), after=logit(2.2), over=horizon), midway=True),
        "0.3 % buy": Case(shop(conversion=0.003), logit(2.0, conversion=0.003)),
        "95 % buy, +-5 %": Case(shop(floor=23.75, ceiling=26.25, conversion=0.95), logit(0.3, conversion=0.95)),
        "wide log-normal, 30 % buy": Case(
            shop(floor=0.0, ceiling=100.0, conversion=0.3),
            worlds.LogNormal(
                conversion=0.3,
                reference_price=TODAY,
                deviation=0.9,
                attributes=tuple(0.6 * x for x in LEVELS),
                crowd=worlds.mixed,
            ),
        ),
    }
