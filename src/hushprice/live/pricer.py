"""The engine for one live product: quote a price, observe what came of it.

pricer = open_pricer(horizon=100_000, contexts=2, epsilon=1.0)
quote = pricer.quote([0.3, -0.5])
pricer.observe(quote.id, 1)
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack, cast

import numpy as np

from hushprice import checks
from hushprice.demand.families import Logistic
from hushprice.demand.features import FeatureMap, by_name
from hushprice.demand.protocol import Demand
from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.live import saved
from hushprice.noise import NoiseSource, System
from hushprice.policies.catalog import build
from hushprice.policies.cautious.policy import DEMAND
from hushprice.policies.paper.private.covariance import CovarianceReleaser
from hushprice.policies.paper.private.estimate import EstimateReleaser
from hushprice.policies.protocol import Engine, Learner, Policy, Quoter, part
from hushprice.prior import Prior
from hushprice.privacy.ledger import Ledger
from hushprice.product import Product, check_product, with_prior
from hushprice.settings import DEFAULT_POLICY, PRODUCT_HORIZON, PRODUCT_POLICY, PolicySettings, Settings
from hushprice.slots import Observation, Slots
from hushprice.types import FloatArray

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from hushprice.privacy.certificates.certificate import Certificate

Customer = Sequence[float] | FloatArray | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Quote:
    """A price offered. `version` counts the estimates, or batches, behind it; 0 is the price of ignorance."""

    id: str
    price: float
    version: int


class Pricer:
    """Learns demand from past customers and quotes personal prices, inside a privacy budget fixed at the start.

    Threads may share a pricer: `quote`, `observe` and `save` take turns. Processes may not.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        demand: Demand,
        features: FeatureMap,
        horizon: int,
        schema: Schema | None = None,
        delay: int = 0,
        source: NoiseSource | None = None,
        simulation: bool = False,
        covariance: CovarianceReleaser | None = None,
        estimates: EstimateReleaser | None = None,
    ) -> None:
        checks.whole(1, horizon=horizon)
        checks.whole(0, delay=delay)
        policy = policy.live_form()
        if not policy.learns:
            raise InvalidInput(
                f"policy must be one that learns live ('cautious', 'paper', 'noisy-newton', 'nonprivate' or a rival "
                f"that claims something), got {policy.name!r}"
            )
        if delay > 0 and not policy.waits:
            raise InvalidInput(f"delay must be 0 for policy {policy.name!r}, got {delay!r}")
        policy.check_fits(horizon=horizon, demand=demand, dimension=features.dimension)
        if schema is not None and schema.dimension != features.contexts:
            raise InvalidInput(f"schema gives contexts of length {schema.dimension}, features take {features.contexts}")
        source = System() if source is None else source
        if source.simulated and not simulation:
            raise InvalidInput(f"source {source.label!r} is refused outside simulation: a known seed removes the noise")
        self.policy = policy
        self.demand = demand
        self.features = features
        self.horizon = horizon
        self.schema = schema
        self.source = source
        self.clipped_attributes = 0  # raw data: for the operator
        self._lock = threading.RLock()  # one slot at a time, and the releasers' scratch is shared
        self.slots = Slots(horizon=horizon, delay=delay)
        self.engine: Engine = part(policy, "engine").make_engine(
            policy=policy,
            demand=demand,
            features=features,
            horizon=horizon,
            source=source,
            covariance=covariance,
            estimates=estimates,
        )

    def quote(self, customer: Customer) -> Quote:
        """A price for the arriving customer: a context, or attributes by the schema's names.

        In the product's currency where there is a product, in [0, 1] otherwise.

        Bad input is refused before anything changes. After the horizon prices go on and learning has stopped. A fit
        that fails (DidNotConverge) stays paid for, and the same customer may be quoted again, from the last estimate.
        """
        with self._lock:
            context, clipped = self._context(customer)
            u, v = self.features.parts(context)
            period = self.slots.count + 1
            self.engine.learn(self.slots, period)
            price = self.engine.price(u, v, period)
            phi = u + price * v
            if not np.isfinite(phi).all():  # a record that cannot be learned must not get a slot
                raise InvalidInput("features must be finite for every context and price")
            self.clipped_attributes += clipped
            return Quote(self.slots.open(phi), self.policy.in_currency(price), self.quoter.version)

    def observe(self, quote_id: str, demand: float) -> Observation:
        """What the quoted customer bought: a number, or True or False. Late, out of order or never; never twice."""
        with self._lock:
            return self.slots.observe(quote_id, demand)

    @property
    def quoter(self) -> Quoter:
        """The side that prices. It holds releases only."""
        return self.engine.quoter

    @property
    def learner(self) -> Learner:
        """The side that reads records."""
        return self.engine.learner

    @property
    def ledger(self) -> Ledger:
        """What privacy was paid for and what has been spent."""
        return self.learner.ledger

    @property
    def frozen(self) -> bool:
        """Does everybody pay today's price, as prices have earned less than the holdout beyond the product's risk?

        A pricer with a holdout freezes itself, and logs a warning, where releases show that.
        """
        return bool(getattr(self.engine, "frozen", False))

    def resume(self) -> None:
        """Go on as planned where the pricer has frozen itself; what comes now is compared anew."""
        with self._lock:
            if self.frozen:
                cast(Any, self.engine).resume(self.slots.count + 1)

    @property
    def learning(self) -> bool:
        """Is there still a slot to learn?"""
        return self.slots.learned < self.slots.last

    def certificate(
        self, key: Ed25519PrivateKey, *, issued: datetime.date | None = None, previous: Certificate | None = None
    ) -> Certificate:
        """A signed statement of what was paid for and spent, for an auditor (docs/guide/certificates.md).

        `key` is the operator's, see privacy/certificates/signing.py. `issued` is a date in UTC, today's by default.
        `previous` is the certificate before this one. Refused where noise is simulated or a part is not one of
        hushprice's own.
        """
        from hushprice.live.certify import certify  # loads the cryptography library, which nothing else needs

        with self._lock:
            return certify(self, key, issued=issued, previous=previous)

    def save(self, path: str | Path) -> None:
        """Write everything to one file, in one piece or not at all. It holds raw records: guard it like the records."""
        with self._lock:
            saved.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, *, simulation: bool = False) -> Self:
        """Take up where `save` left off. Released noise is read back, never drawn again.

        Load a file once, and only if nothing was quoted after it was saved. Two pricers living on from one file spend
        the same budget twice. So does one that lives on from a file older than the last quote: what was released since
        is forgotten, and released again with fresh noise. Nothing detects either.
        """
        return saved.load(cls, Path(path), simulation=simulation)

    def _context(self, customer: Customer) -> tuple[FloatArray, int]:
        """The customer's context, and how many attributes had to be clipped."""
        if isinstance(customer, Mapping):
            if self.schema is None:
                raise InvalidInput("attributes by name need a schema; this pricer takes a context vector")
            encoded = self.schema.encode(customer)
            return encoded.context, len(encoded.clipped)
        context = checks.vector(self.features.contexts, context=customer)
        outside = np.flatnonzero(np.abs(context) > 1.0)
        if outside.size:
            raise InvalidInput(f"context[{outside[0]}] must lie in [-1, 1], got {float(context[outside[0]])!r}")
        return context, 0

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pricer cannot be copied or pickled: two of them would spend one budget; use save and load")

    def __repr__(self) -> str:
        return f"Pricer(policy={self.policy.name!r}, quotes={self.slots.count}, horizon={self.horizon})"


def open_pricer(
    *,
    product: Product | None = None,
    prior: Prior | str | Path | None = None,
    horizon: int | None = None,
    policy: str | None = None,
    contexts: int | None = None,
    schema: Schema | None = None,
    demand: Demand | None = None,
    features: str | FeatureMap = "main",
    delay: int = 0,
    source: NoiseSource | None = None,
    simulation: bool = False,
    covariance: CovarianceReleaser | None = None,
    estimates: EstimateReleaser | None = None,
    **asked: Unpack[Settings],
) -> Pricer:
    """A pricer for a product, or for `horizon` customers of a market by context length or by schema.

    A product says all that a shop knows, prices are in its currency, and the policy is `cautious`; a million customers
    are learned from unless a horizon is given. `prior` is what a private fit of a log says about it, or the fit's file
    (docs/guide/warm_start.md). Without a product, prices lie in [0, 1] and `asked` is what settings.py lists.

    `epsilon` and `delta` are the totals over the horizon; epsilon is 1 unless it or both of its shares are given.
    Policy noisy-newton takes `reference_price`, where prices start, and `unit_cost`, a share of the highest price: then
    (price - unit_cost) x demand is maximized instead of revenue, and no price is below it. `trigger` and `bonus` turn
    parts of it off. Its guarantee does not depend on the horizon, which is only where learning stops, unless delta is a
    formula in T. Policy paper takes `calibration` and the numerical section's numbers to replace.

    >>> pricer = open_pricer(horizon=1000, contexts=1)
    >>> pricer.ledger.claimed
    EpsilonDelta(epsilon=1.0, delta=2e-06)
    >>> socks = Product(floor=8.0, ceiling=12.0, reference_price=10.0, conversion=0.1, contexts=1)
    >>> 8.0 <= open_pricer(product=socks).quote([0.5]).price <= 12.0
    True
    """
    if prior is not None:
        product = with_prior(product, prior)
    if product is not None:
        check_product(product)
        own = None if features == "main" else features
        given = {"contexts": contexts, "schema": schema, "demand": demand, "features": own}
        settings = _of_product(product, horizon, policy, given, asked)
        demand, schema, features = DEMAND, product.schema, "main"
        contexts = product.contexts if schema is None else None
    elif horizon is None:
        raise InvalidInput("horizon must be given, or a product")
    else:
        settings = PolicySettings(policy=policy or DEFAULT_POLICY, horizon=horizon, **asked)
    demand = Logistic() if demand is None else demand
    features = _features(features, contexts, schema)
    return Pricer(
        policy=build(settings, demand, features),
        demand=demand,
        features=features,
        horizon=settings.horizon,
        schema=schema,
        delay=delay,
        source=source,
        simulation=simulation,
        covariance=covariance,
        estimates=estimates,
    )


def _of_product(
    product: Product, horizon: int | None, policy: str | None, given: Mapping[str, object], asked: Settings
) -> PolicySettings:
    """What a product asks for; what it says itself cannot be said beside it."""
    for name, value in {**given, "epsilon": asked.get("epsilon"), "delta": asked.get("delta")}.items():
        if value is not None:
            raise InvalidInput(f"{name} is the product's where one is given, got {checks.shown(value)} beside it")
    if policy not in (None, PRODUCT_POLICY):
        raise InvalidInput(f"policy must be {PRODUCT_POLICY!r} where a product is given, got {policy!r}")
    own: Settings = {**asked, "epsilon": product.epsilon, "delta": product.delta}
    return PolicySettings(
        policy=PRODUCT_POLICY, horizon=PRODUCT_HORIZON if horizon is None else horizon, product=product, **own
    )


def _features(features: str | FeatureMap, contexts: int | None, schema: Schema | None) -> FeatureMap:
    """A built-in map for contexts of the one length given, or a map of one's own, which must agree with it."""
    if isinstance(features, str):
        length = contexts if schema is None else schema.dimension
        if length is None or (contexts is not None and schema is not None):
            raise InvalidInput(f"give contexts (the length of a context) or schema, one of them, got {contexts!r}")
        return by_name(features, length)
    if contexts not in (None, features.contexts):
        raise InvalidInput(f"contexts must be {features.contexts}, the length the features take, got {contexts!r}")
    return features
