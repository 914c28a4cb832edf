"""Bugs in policy cautious: what a record is held to, how often it counts, and the noise of its batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.planted.planting import Between, Bug, changed

from hushprice.noise import Tape
from hushprice.policies.cautious.noise import MomentNoise
from hushprice.policies.cautious.pricing import instruments
from hushprice.policies.cautious.private import learner
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.sums import IdealSums
from hushprice.privacy import loss, sensitivity


def _in_numpy(**answers: Any) -> Bug:
    """The learner asks NumPy, which answers otherwise."""
    return changed(learner, "np", lambda real: Between(real, **answers))


noise_without_sensitivity = changed(MomentNoise, "of_score", lambda real: lambda self, choice: self.score)
sensitivity_of_one_record = changed(sensitivity, "of_moments", lambda real: lambda largest, own, adjacency: 1.0)
price_left_out_of_the_own_share = changed(
    instruments,
    "own_share",
    lambda real: lambda choice: math.hypot(instruments.WEIGHTS[choice][1], instruments.WEIGHTS[choice][4]),
)
residual_not_held = _in_numpy(fmin=lambda real, values, most: values)
context_not_held = changed(instruments, "held", lambda real: lambda contexts: contexts)
description_not_scaled = changed(
    learner, "described", lambda real: lambda contexts: real(contexts) * math.sqrt(2.0 * contexts.shape[1])
)


def _contributions(change: Any) -> Bug:
    """The learner's contributions with arguments (contexts, prices, coins, demands, theta, holdout) changed."""

    def make(real: Any) -> Any:
        return lambda self, *given: change(self, real, *given)

    return changed(CautiousLearner, "_contributions", make)


def _by_demand(self: Any, real: Any, x: Any, z: Any, coins: Any, y: Any, theta: Any, holdout: Any) -> Any:
    return real(self, x, z, coins, y, theta, y > 0.7)


def _unclipped(self: Any, real: Any, x: Any, z: Any, coins: Any, y: Any, theta: Any, holdout: Any) -> Any:
    earned = y * (self._model.margin + z) / (self._model.margin + self._model.highest)
    return real(self, x, z, coins, y, theta, holdout)._replace(
        earnings=np.column_stack([earned * holdout, earned * ~holdout])
    )


holdout_by_demand = _contributions(_by_demand)
earnings_not_held = _contributions(_unclipped)
price_not_held = changed(
    learner,
    "instruments",
    lambda real: lambda x, z, coins, choice: real(x, z * 1.5, coins, choice),  # a reach too small by half
)
rows_multiplied_together = changed(learner, "_along", lambda real: lambda rows, direction: rows @ direction)


def _twice(real: Any) -> Any:
    def add(self: Any, given: Any) -> None:
        real(self, given)
        real(self, given)

    return add


record_added_twice = changed(IdealSums, "add", _twice)
live_record_added_twice = changed(ExactSums, "add", _twice)
batch_never_emptied = changed(
    IdealSums, "begin", lambda real: lambda self: None if hasattr(self, "_sums") else real(self)
)


def _drawn_once(kind: type, name: str) -> Bug:
    """The first batch's noise is that of all batches."""

    def make(real: Any) -> Any:
        def start(self: Any, **given: Any) -> None:
            real(self, **given)
            drawn: dict[Any, Any] = {}
            asked = {name: lambda ask, *which: drawn.setdefault(which[-1], ask(*which))}
            self._source = Between(self._source, **asked)

        return start

    return changed(kind, "__init__", make)


noise_drawn_once = _drawn_once(IdealSums, "normals")
live_noise_drawn_once = _drawn_once(ExactSums, "integers")
noise_of_the_first_slot = changed(
    IdealSums, "release", lambda real: lambda self, score_noise, records: real(self, score_noise, 1)
)
noise_a_fifth_smaller = changed(Tape, "normals", lambda real: lambda self, *given: 0.8 * real(self, *given))


def _uncharged(real: Any) -> Any:
    def of_moments(event: Any, count: int, adjacency: Any) -> Any:
        return loss.Loss(
            mu_squared=real(event, count, adjacency).mu_squared - count / event.earnings_noise**2,
            coordinates=real(event, count, adjacency).coordinates,
        )

    return of_moments


earnings_not_charged = changed(loss, "_of_moments", _uncharged)


def _readable_alone(real: Any) -> Any:
    def absorb(
        self: Any, contexts: Any, prices: Any, coins: Any, demands: Any, theta: Any, holdout: Any = None
    ) -> None:
        known = np.isfinite(demands)
        apart = None if holdout is None else holdout[known]
        real(self, contexts[known], prices[known], coins[known], demands[known], theta, apart)

    return absorb


unreadable_record_without_a_slot = changed(CautiousLearner, "absorb", _readable_alone)
