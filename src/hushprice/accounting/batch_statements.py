"""What a certificate of policy noisy-newton says."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushprice.accounting import sensitivity
from hushprice.accounting.adjacency import Adjacency
from hushprice.accounting.batch_noise import BatchNoise
from hushprice.accounting.ledger import Entry
from hushprice.accounting.statements import bounded, constants, costs, mechanism
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand

_RELEASERS = {
    "curvature": "of each batch, block by block: sums of psi psi', ||psi|| <= 1, with Gaussian noise",
    "policy": "noisy-newton",
    "score": "of each batch, once: a sum of scores of length at most 1, with Gaussian noise",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchFacts:
    """What a certificate of policy noisy-newton is calculated from; everything else in it follows."""

    issued: datetime.date  # in UTC
    versions: Mapping[str, str]
    adjacency: Adjacency
    horizon: int
    delay: int
    demand: Demand  # a built-in family
    features: FeatureMap  # a built-in map
    cap: float
    noise: BatchNoise


def describe_batches(facts: BatchFacts) -> dict[str, dict[str, Any]]:
    """The four sections. All batches are one release, which is paid and spent at the start."""
    allowance = (Entry(facts.noise.event(facts.features.dimension, live=True), 1),)
    return {
        "mechanism": mechanism(_RELEASERS, facts.issued, facts.versions),
        "parameters": _parameters(facts),
        **costs(allowance, allowance, facts.noise.claimed, facts.adjacency),
    }


def _parameters(facts: BatchFacts) -> dict[str, Any]:
    noise, features = facts.noise, facts.features
    return {
        "adjacency": facts.adjacency.value,
        "cap": float(facts.cap),
        "delay": int(facts.delay),
        "demand": constants(facts.demand),
        "dimension": int(features.dimension),
        "features": bounded(features),
        "horizon": int(facts.horizon),
        "noise": {"score": float(noise.score), "curvature": float(noise.curvature), "levels": int(noise.levels)},
        "sensitivities": {
            "score": sensitivity.of_gradients(1.0, 2.0, facts.adjacency)[0],
            "curvature": sensitivity.of_covariance(facts.adjacency),
        },
    }
