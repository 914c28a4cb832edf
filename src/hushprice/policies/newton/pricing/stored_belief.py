"""What a quoter prices a product of policy noisy-newton by: the belief after the last release, public and small."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.belief_numbers import numbers_of
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.newton.rules import NewtonRules
from hushprice.types import FloatArray


class StoredBelief(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The belief N(theta, inverse(precision)) of policy noisy-newton, and where its batches are."""

    theta: tuple[float, ...]
    precision: tuple[tuple[float, ...], ...]
    inverse: tuple[tuple[float, ...], ...]
    ready: bool  # is it worth pricing by? Before that the reference price is quoted
    version: int
    batch: int  # the slot the batch at hand follows
    look: int  # the slot after which the next release is due
    end: int  # the slot after which the batch ends at the latest


def new_quoter(
    rules: NewtonRules, demand: Demand, features: FeatureMap, reference_price: float | None = None
) -> NewtonQuoter:
    """A quoter that holds no release yet. A reference price that is given moves the prices before one alone."""
    used = rules if reference_price is None else replace(rules, reference_price=reference_price)
    return NewtonQuoter(demand=demand, features=features, rules=used)


decode = msgspec.json.Decoder(StoredBelief).decode


def belief_of(quoter: NewtonQuoter) -> StoredBelief:
    """The belief of a quoter, to be handed to others."""
    return StoredBelief(
        theta=tuple(quoter.theta.tolist()),
        precision=tuple(tuple(row) for row in quoter.precision.tolist()),
        inverse=tuple(tuple(row) for row in quoter.inverse.tolist()),
        ready=quoter.ready,
        version=quoter.version,
        batch=quoter.batch,
        look=quoter.look,
        end=quoter.end,
    )


def set_belief(quoter: NewtonQuoter, belief: StoredBelief) -> NewtonQuoter:
    """The quoter, with this belief instead of its own; one of another product is refused, and nothing changes."""
    size = quoter.theta.size
    theta = numbers_of("theta", belief.theta, (size,))
    precision = numbers_of("precision", belief.precision, (size, size))
    inverse = numbers_of("inverse", belief.inverse, (size, size))
    before, arrays = belief_of(quoter), (quoter.theta, quoter.precision, quoter.inverse)
    _assign(quoter, belief, theta, precision, inverse)
    if belief.end != quoter.end or not belief.batch < belief.look <= belief.end:
        _assign(quoter, before, *arrays)
        raise InvalidInput(f"belief.end and belief.look must fit a batch after slot {belief.batch} of this product")
    return quoter


def _assign(
    quoter: NewtonQuoter, belief: StoredBelief, theta: FloatArray, precision: FloatArray, inverse: FloatArray
) -> None:
    quoter.theta, quoter.precision, quoter.inverse = theta, precision, inverse
    quoter.ready, quoter.version = belief.ready, belief.version
    # By the belief: the batch may be a probe, and its tilt is made anew wherever it is used.
    quoter.follow(belief.batch)
    quoter.look = belief.look
