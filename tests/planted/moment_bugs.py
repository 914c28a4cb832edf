"""Bugs in policy cautious: what a record is held to, how often it counts, and the noise of its batch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from tests.planted.planting import Between, Bug, changed

from hushprice.noise import Tape
from hushprice.policies.cautious.noise import MomentNoise
from hushprice.policies.cautious.pricing import instruments
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.policies.cautious.private import learner
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.sums import IdealSums
from hushprice.privacy import accountant, customers, loss, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import LaplaceBatches


def _noise_alone(real: Any) -> Any:
    def of_score(self: Any, contexts: int, choice: int) -> Any:
        return np.where(real(self, contexts, choice) > 0.0, math.sqrt(2.0) / self.score, 0.0)

    return of_score


noise_without_sensitivity = changed(MomentNoise, "of_score", _noise_alone)
scale_a_fifth_too_small = changed(
    MomentNoise, "of_score", lambda real: lambda self, contexts, choice: 0.8 * real(self, contexts, choice)
)
sensitivity_of_one_record = changed(
    sensitivity, "of_sides", lambda real: lambda least, most, weights, _: real(least, most, weights, Adjacency.ZERO_OUT)
)
two_buyers_forgotten = changed(
    sensitivity, "of_sides", lambda real: lambda least, most, weights, _: (1.0 + most - least) * sum(weights)
)
residual_not_held = changed(ShopModel, "held", lambda real: lambda self, believed: believed)
context_not_held = changed(instruments, "held", lambda real: lambda contexts: contexts)
context_held_to_a_round_ball = changed(
    instruments, "held", lambda real: lambda x: x / np.maximum(np.sqrt((x * x).sum(axis=1)), 1.0)[:, None]
)
attributes_of_a_common_batch = changed(
    learner, "instruments", lambda real: lambda x, coins, choice: real(x, coins, max(choice, 1))
)
side_by_the_customer = changed(
    learner, "instruments", lambda real: lambda x, coins, choice: real(x, np.where(x[:, -1] > 0.0, 1.0, -1.0), choice)
)
description_not_scaled = changed(
    learner, "described", lambda real: lambda contexts: real(contexts) * math.sqrt(2.0 * contexts.shape[1])
)


def _contributions(change: Any) -> Bug:
    """The learner's contributions with arguments (contexts, prices, coins, demands, theta, holdout) changed."""

    def make(real: Any) -> Any:
        return lambda self, *given, holdout: change(self, real, *given, holdout=holdout)

    return changed(CautiousLearner, "_contributions", make)


def _by_demand(self: Any, real: Any, x: Any, z: Any, coins: Any, y: Any, theta: Any, holdout: Any) -> Any:
    return real(self, x, z, coins, y, theta, holdout=y > 0.7)


def _unclipped(self: Any, real: Any, x: Any, z: Any, coins: Any, y: Any, theta: Any, holdout: Any) -> Any:
    earned = y * (self._model.margin + z) / (self._model.margin + self._model.highest)
    return real(self, x, z, coins, y, theta, holdout=holdout)._replace(
        earnings=np.column_stack([earned * holdout, earned * ~holdout])
    )


def _scored_apart(self: Any, real: Any, x: Any, z: Any, coins: Any, y: Any, theta: Any, holdout: Any) -> Any:
    return real(self, x, z, coins, y, theta, holdout=holdout)._replace(
        scores=real(self, x, z, coins, y, theta, holdout=np.zeros_like(holdout)).scores
    )


holdout_scored = _contributions(_scored_apart)
holdouts_scale_for_all = changed(
    LaplaceBatches, "earned_scales", lambda real: property(lambda self: (self.holdout_scale, self.holdout_scale))
)
holdout_by_demand = _contributions(_by_demand)
earnings_not_held = _contributions(_unclipped)
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
live_laplace_noise_drawn_once = _drawn_once(ExactSums, "laplace_integers")
noise_of_the_first_slot = changed(
    IdealSums, "release", lambda real: lambda self, score_noise, records: real(self, score_noise, 1)
)
noise_a_fifth_smaller = changed(Tape, "normals", lambda real: lambda self, *given: 0.8 * real(self, *given))


def _uncharged(real: Any) -> Any:
    def of_laplace(event: Any, count: int, adjacency: Any) -> Any:
        found = real(event, count, adjacency)
        return replace(found, pure=found.pure - count / event.earnings_scale)

    return of_laplace


earnings_not_charged = changed(loss, "_of_laplace", _uncharged)
bounded_loss_not_charged = changed(
    accountant, "_ideal_epsilon", lambda real: lambda given, delta: real(replace(given, pure=0.0), delta)
)
bounded_loss_lost_in_composition = changed(
    customers, "compose", lambda real: lambda losses: replace(real(losses), pure=0.0)
)
bounded_loss_of_one_record = changed(
    customers,
    "loss_of_customer",
    lambda real: lambda given, records: replace(real(given, records), pure=given.pure),
)


def _readable_alone(real: Any) -> Any:
    def absorb(
        self: Any, contexts: Any, prices: Any, coins: Any, demands: Any, theta: Any, *, holdout: Any = None
    ) -> None:
        known = np.isfinite(demands)
        apart = None if holdout is None else holdout[known]
        real(self, contexts[known], prices[known], coins[known], demands[known], theta, holdout=apart)

    return absorb


unreadable_record_without_a_slot = changed(CautiousLearner, "absorb", _readable_alone)
