"""How far a release moved prices: post-processing of two beliefs, over customers that nobody is."""

from __future__ import annotations

import random
from statistics import fmean

import msgspec
import numpy as np

from hushprice.demand.schema import Boolean, Category
from hushprice.service.quoting.price_maps import Feature, map_features
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.store.values import StoredRelease

_CUSTOMERS, _SEED = 64, 7


def mean_move(priced: PricedProduct, before: StoredRelease | None) -> float:
    """The mean distance between prices by the release in use and by the one before, as a share of the ceiling.

    Prices as they would be: a frozen product is taken as open.
    """
    stored = msgspec.structs.replace(priced.stored, status="open")
    old, new = (PricedProduct(stored, release, priced.product) for release in (before, priced.release))
    chance, features = random.Random(_SEED), list(map_features(priced).values())
    customers = [_customer(features, chance) for _ in range(_CUSTOMERS)]
    return fmean(abs(new.price(each, 0.5).share - old.price(each, 0.5).share) for each in customers)


def _customer(features: list[Feature], chance: random.Random) -> bytes:
    entries: list[float] = []
    for feature in features:
        if isinstance(feature, Category):
            entries += feature.encode(chance.choice(feature.levels))
        elif isinstance(feature, Boolean):
            entries += feature.encode(chance.random() < 0.5)
        else:
            entries += feature.encode(chance.uniform(feature.low, feature.high))
    return np.array(entries, dtype="<f8").tobytes()
