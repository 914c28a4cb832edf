"""Faults of a fifth that runs alone must show, and the check that sees every release of noisy-newton."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.planted.planting import between, changed

from hushprice import noise
from hushprice.noise import System, Tape
from hushprice.policies.newton.noise import calibrate
from hushprice.policies.newton.private.batches import IdealBatch
from hushprice.policies.newton.private.exact_batches import ExactBatch
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.privacy import loss, sensitivity
from hushprice.research.audits.release_runs import judge_releases, watches_of
from hushprice.simulation.run import prepare

_FEWER = 0.8

score_and_curvature_noise_a_fifth_smaller = changed(
    Tape, "normals", lambda real: lambda self, *given: _FEWER * real(self, *given)
)
live_noise_a_fifth_smaller = changed(
    System,
    "integers",
    lambda real: lambda self, scale, count: [round(_FEWER * each) for each in real(self, scale, count)],
)
score_sensitivity_a_fifth_smaller = changed(
    sensitivity,
    "of_gradients",
    lambda real: lambda *given: (_FEWER * real(*given)[0], real(*given)[1]),
)


def _twice(real: Any) -> Any:
    def add(self: Any, phi: Any, work: Any) -> None:
        real(self, phi, work)
        real(self, phi, work)

    return add


record_added_twice = changed(IdealBatch, "add", _twice)
live_record_added_twice = changed(ExactBatch, "add", _twice)


def _kept(real: Any) -> Any:
    def begin(self: IdealBatch, level: int) -> None:
        score = self._score.copy()
        real(self, level)
        if level == 0:  # the batch after the record's
            self._score[:] = score

    return begin


record_in_the_next_batch_too = changed(IdealBatch, "begin", _kept)


def _uncharged(real: Any) -> Any:
    def of_batches(event: Any, count: int, adjacency: Any) -> Any:
        changed_by, _ = sensitivity.of_gradients(1.0, 2.0, adjacency)
        return loss.Loss(mu_squared=count * (changed_by / event.score_noise) ** 2)

    return of_batches


curvature_not_charged = changed(loss, "_of_batches", _uncharged)


def releases_keep_to_what_is_proven() -> None:
    """At a large epsilon few runs are enough: of these, a fault of a twelfth is found."""
    _watched(live=False, runs=4000)


def live_releases_keep_to_what_is_proven() -> None:
    """The same with what live use draws, from a seed: what chance does must not depend on the day."""
    random = np.random.default_rng(6)

    def sampler(scale: float) -> Any:
        return lambda zeros: [round(scale * z) for z in random.standard_normal(len(zeros))]

    with changed(noise, "_measurement", lambda real: sampler)():
        _watched(live=True, runs=800)


def covariances_keep_to_what_is_proven() -> None:
    """All that the paper releases, to the stream's end."""
    _watched("paper", live=False, runs=1500, horizon=64)


def estimates_keep_to_what_is_proven() -> None:
    """All of the paper's estimates, which beside its covariances would not be noticed."""
    _watched("paper", live=False, runs=5000, horizon=64, part="estimates", epsilon=40.0)


def _watched(
    policy: str = "noisy-newton",
    *,
    live: bool,
    runs: int,
    horizon: int = 200,
    part: str = "",
    epsilon: float = 20.0,
) -> None:
    calibrate.cache_clear()  # a planted accountant must be asked, and not be remembered
    try:
        job = prepare(policy, horizon=horizon, epsilon=epsilon, delta="1e-6")
        (watch,) = (each for each in watches_of(job, runs) if (each.live, each.part) == (live, part))
        watch = replace(watch, runs=runs, seed=1)
        found = judge_releases(watch, *watch.run(), confidence=0.99, audits=1)
    finally:
        calibrate.cache_clear()
    assert not found.refuted, found.seen
    assert policy == "paper" or (found.share or 0.0) > 0.75


stream_noise_a_fifth_smaller = changed(
    PrivateCov,
    "__init__",
    lambda real: lambda self, **given: (real(self, **given), setattr(self, "_scales", _FEWER * self._scales))[0],
)


def _quiet_at_last(real: Any, stream: int, first: int, periods: int, count: int) -> Any:
    drawn = real(stream, first, periods, count)
    drawn[:, max(0, 48 - first) :] = 0.0
    return drawn


estimate_noise_a_fifth_smaller = between(
    PrivateMLE, add=lambda real, values, noise, stream, period: real(values, _FEWER * noise, stream, period)
)

late_covariances_without_noise = between(PrivateCov, normals_many=_quiet_at_last)
