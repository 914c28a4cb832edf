"""A rival as a live pricer runs it: customer by customer, with exact noise."""

from __future__ import annotations

import math

import numpy as np

from hushprice.demand.features import MAIN, MAPS, FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import HushpriceError, InvalidInput
from hushprice.noise import NoiseSource, System
from hushprice.policies.protocol import SlotsDue
from hushprice.policies.rival_parts.frame import Customers
from hushprice.policies.rival_parts.rival_policy import RivalPolicy, open_ledger
from hushprice.types import FloatArray


class RivalEngine:
    """Both sides of a rival, which are one object, and its ledger: all releases are paid and spent at the start.

    Only noise has to come from the system: prices that a rival tries are drawn without looking at any record. Where
    devices report, it plays them too: of a record it makes the report, once, and nothing else is learned.
    """

    def __init__(self, *, policy: RivalPolicy, features: FeatureMap, source: System) -> None:
        assert policy.claimed is not None
        ledger = open_ledger(policy.events, policy.claimed, policy.adjacency)
        for event in policy.events:
            ledger = ledger.spend(event)
        self.ledger, self.version = ledger, 0  # how often prices may have changed
        self._features = features
        self._rival = policy.begin(policy.frame, np.random.default_rng(), source)
        self._priced: tuple[Customers, float] | None = None  # who was last priced, and the price
        self._name, self._failed = policy.name, False

    @property
    def quoter(self) -> RivalEngine:
        """Itself."""
        return self

    @property
    def learner(self) -> RivalEngine:
        """Itself."""
        return self

    def learn(self, slots: SlotsDue, period: int) -> None:
        """Learn what the last customer did. Where noise could not be drawn the pricer prices nobody any more."""
        due = slots.due()
        if due is None or self._priced is None:
            return
        customers, price = self._priced
        ends, self._failed = self._rival.due == 1, True
        self._rival.learn(customers, np.array([price]), np.array([due[1]]))
        self._failed = False
        self.version += ends

    def price(self, u: FloatArray, v: FloatArray, period: int) -> float:
        """The price for a customer whose features are u + p v."""
        if self._failed:
            raise HushpriceError(f"policy {self._name!r} failed while it learned, and cannot go on")
        customers = Customers(_contexts(self._features, u), u[:, None], v[:, None])
        price = float(self._rival.prices(customers)[0])
        if not 0.0 <= price <= 1.0:  # NaN fails
            raise InvalidInput(f"policy {self._name!r} left [0, 1] with a price")
        self._priced = customers, price
        return price

    def own_parts(self, *, certified: bool) -> dict[str, bool]:
        """It takes no part of the user's own."""
        return {}


def _contexts(features: FeatureMap, u: FloatArray) -> FloatArray:
    """A customer's context, read off the features of a built-in map, (k, 1)."""
    first = 0 if features.code == MAIN else 1
    x = u[first : first + features.contexts] * math.sqrt(features.dimension)
    return np.asarray(np.clip(x, -1.0, 1.0)[:, None])


def make_engine(
    *, policy: RivalPolicy, demand: Demand, features: FeatureMap, horizon: int, source: NoiseSource, **parts: object
) -> RivalEngine:
    """The engine of a live pricer."""
    if any(given is not None for given in parts.values()):
        raise InvalidInput(f"{' and '.join(parts)} are for policies 'paper' and 'nonprivate'")
    if not isinstance(source, System):
        raise InvalidInput(f"source must be the system's for policy {policy.name!r}; `simulate` runs it without")
    if features.name not in MAPS:
        raise InvalidInput(f"features must be a built-in map for policy {policy.name!r}, got {features.name!r}")
    return RivalEngine(policy=policy, features=features, source=source)
