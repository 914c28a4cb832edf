"""The worlds on which the constants of policy cautious were chosen. `unseen.py` has those that had no part in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hushprice.product import Product
from hushprice.shops import worlds
from hushprice.shops.world import World

TODAY = 25.0
LEVELS = (0.5, -0.4, 0.3, -0.3, 0.2, 0.6, -0.4, 0.3, 0.0)  # what the nine entries of worlds.mixed add to log-odds
RESPONSES = (-0.3, 0.3, 0.2, 0.2, -0.3, -0.3, 0.3, 0.2, 0.0)  # and to the elasticity


@dataclass(frozen=True)
class Case:
    """A product in a world. `midway` says that demand changes at half the horizon."""

    product: Product
    world: World
    midway: bool = False


def shop(**given: float) -> Product:
    """A shop's product: 80 to 120 % of today's price, 2 % expected to buy."""
    return Product(
        **{"floor": 20.0, "ceiling": 30.0, "reference_price": TODAY, "conversion": 0.02, "contexts": 9, **given}
    )


def customers(levels: tuple[float, ...], responses: tuple[float, ...]) -> Callable[..., worlds.Logit]:
    """What makes customers of a shop, by their elasticity, conversion, and how far attributes change the former."""

    def logit(elasticity: float, conversion: float = 0.018, personal: float = 1.0) -> worlds.Logit:
        return worlds.Logit(
            conversion=conversion,
            elasticity=elasticity,
            reference_price=TODAY,
            attributes=levels,
            interactions=tuple(personal * each for each in responses),
            crowd=worlds.mixed,
        )

    return logit


logit = customers(LEVELS, RESPONSES)


def classes(conversions: tuple[float, ...], elasticities: tuple[float, ...], seed: int) -> worlds.LatentClasses:
    """Kinds of customers that attributes tell apart only in part."""
    kinds = tuple(
        worlds.Logit(conversion=conversion, elasticity=elasticity, reference_price=TODAY, attributes=(0.0,) * 9)
        for conversion, elasticity in zip(conversions, elasticities, strict=True)
    )
    shift = np.random.default_rng(seed).normal(0.0, 0.7, (9, len(kinds)))
    return worlds.LatentClasses(kinds=kinds, shift=shift, crowd=worlds.mixed)


def cases(horizon: int) -> dict[str, Case]:
    """All of them; those that change do so at half the horizon."""
    return {
        "right": Case(shop(), logit(1.0, personal=1.7)),
        "elastic": Case(shop(), logit(2.6)),
        "inelastic": Case(shop(), logit(0.3, personal=0.5)),
        "log-normal": Case(
            shop(),
            worlds.LogNormal(
                conversion=0.018,
                reference_price=TODAY,
                deviation=2.1,
                attributes=tuple(0.5 * x for x in LEVELS),
                crowd=worlds.mixed,
            ),
        ),
        "jump": Case(shop(), worlds.Jump(before=logit(0.4), after=logit(3.0), at=horizon // 2), midway=True),
        "classes, 60 % buy": Case(shop(conversion=0.6), classes((0.85, 0.55, 0.3), (0.5, 1.2, 3.0), seed=1)),
        "half buy": Case(shop(floor=10.0, ceiling=60.0, conversion=0.5), logit(0.6, conversion=0.5, personal=0.5)),
        "small margin": Case(shop(unit_cost=21.0), logit(5.0, personal=3.0)),
    }
