"""Sixteen worlds whose numbers are drawn by lot, two of each kind: nobody chose them, and nobody looked before the end.

The shop's guesses are off as well: in the odds of a purchase by up to a factor of three.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import expit, logit

from hushprice.shops import worlds
from hushprice.shops.world import World
from hushprice.types import FloatArray
from shops.designed import TODAY, Case, shop

KINDS = ("logit", "probit", "log-normal", "classes", "jump", "drift", "season", "competitors")
RANGES = (0.05, 0.2, 0.2, 0.2, 0.4)  # of today's price, to either side: most shops have a fifth
_GUESS = 3.0  # times the odds


def _profiles(seed: int, entries: int, start: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Eight kinds of customers with a little between them."""
    kinds = np.random.default_rng(seed).uniform(-1.0, 1.0, (8, entries))
    return np.asarray(np.clip(kinds[rng.integers(8, size=count)] + rng.normal(0.0, 0.1, (count, entries)), -1.0, 1.0))


def _crowd(lot: np.random.Generator, seed: int) -> tuple[worlds.Crowd, int]:
    entries = int(lot.integers(2, 17))
    return [
        (worlds.mixed, 9),
        (worlds.uniform(entries), entries),
        (partial(_profiles, seed, entries), entries),
    ][int(lot.integers(3))]


def _world(lot: np.random.Generator, kind: str, conversion: float, crowd: worlds.Crowd, entries: int) -> World:
    elasticity = float(np.exp(lot.uniform(np.log(0.3), np.log(4.0))))
    attributes = tuple(lot.normal(0.0, 1.2 / np.sqrt(entries), entries).tolist())
    common = {"conversion": conversion, "reference_price": TODAY, "crowd": crowd}
    if kind == "probit":
        return worlds.Probit(steepness=0.6 * elasticity, attributes=attributes, **common)  # type: ignore[arg-type]
    if kind == "log-normal":
        return worlds.LogNormal(deviation=1.5 / elasticity, attributes=attributes, **common)  # type: ignore[arg-type]
    if kind == "classes":
        kinds = tuple(
            worlds.Logit(
                conversion=float(expit(logit(conversion) + lot.normal(0.0, 0.7))),
                elasticity=elasticity * float(np.exp(lot.normal(0.0, 0.6))),
                reference_price=TODAY,
                attributes=(0.0,) * entries,
            )
            for _ in range(3)
        )
        return worlds.LatentClasses(kinds=kinds, shift=lot.normal(0.0, 0.6, (entries, 3)), crowd=crowd)
    interactions = tuple(lot.normal(0.0, 0.5 * elasticity / np.sqrt(entries), entries).tolist())
    return worlds.Logit(elasticity=elasticity, attributes=attributes, interactions=interactions, **common)  # type: ignore[arg-type]


def _case(number: int, horizon: int) -> tuple[str, Case]:
    lot = np.random.default_rng((2027, number))
    kind = KINDS[number % len(KINDS)]
    guess = float(expit(lot.uniform(logit(0.005), logit(0.8))))
    conversion = float(expit(logit(guess) + np.log(_GUESS) * lot.uniform(-1.0, 1.0)))
    around = RANGES[int(lot.integers(len(RANGES)))]
    cost = float(lot.choice([0.0, 0.0, 0.3, 0.6]))
    crowd, entries = _crowd(lot, number)
    product = shop(
        floor=TODAY * (1.0 - around),
        ceiling=TODAY * (1.0 + around),
        conversion=guess,
        unit_cost=TODAY * cost,
        contexts=entries,
    )
    world = _world(lot, kind, conversion, crowd, entries)
    if kind in ("jump", "drift"):
        after = _world(lot, "logit", conversion, crowd, entries)
        changing = {"before": world, "after": after}
        world = worlds.Jump(**changing, at=horizon // 2) if kind == "jump" else worlds.Drift(**changing, over=horizon)
    if kind == "season":
        world = worlds.Season(world=world, period=int(lot.integers(3_000, 15_000)), size=float(lot.uniform(0.2, 0.5)))
    if kind == "competitors":
        world = worlds.Competitors(world=world, every=int(lot.integers(1_000, 5_000)), deviation=0.15, weight=1.2)
    name = f"{kind}, {conversion:.1%} buy, +-{around:.0%}, {entries} entries".replace("%", " %")
    return name, Case(product, world, midway=kind in ("jump", "drift"))


def cases(horizon: int) -> dict[str, Case]:
    """All of them; those that change do so at half the horizon, or evenly over it."""
    return dict(_case(number, horizon) for number in range(2 * len(KINDS)))
