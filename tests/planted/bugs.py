"""Bugs, planted one at a time: each is a context that changes the real code while it lasts.

Compiled steps cannot be changed from outside, so every bug sits where Python calls them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hushprice.accounting import ledger, loss, sensitivity
from hushprice.accounting.adjacency import Adjacency
from hushprice.accounting.events import grid_of
from hushprice.accounting.streams import Toeplitz, Tree
from hushprice.engine import learner, saved
from hushprice.engine.learner import Learner
from hushprice.engine.pricer import Pricer
from hushprice.engine.slots import Pending, Slots
from hushprice.errors import InvalidInput
from hushprice.numerics import tape
from hushprice.releasers import covariance, exact, noise, objective_perturbation
from hushprice.releasers.covariance import PrivateCov
from hushprice.releasers.estimate import PrivateMLE
from hushprice.releasers.exact import ExactCov
from hushprice.releasers.noise import System, Tape
from hushprice.releases import CovarianceRelease
from hushprice.sensitive import records
from hushprice.sensitive.records import Records

Bug = Callable[[], Any]


def changed(owner: Any, name: str, make: Callable[[Any], Any]) -> Bug:
    """A bug that replaces `owner.name` by what `make` makes of it."""

    @contextmanager
    def plant() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, make(getattr(owner, name)))
            yield

    return plant


class Between:
    """A noise source between a releaser and its own, with some answers changed."""

    def __init__(self, inner: Any, **answers: Callable[..., Any]) -> None:
        self.inner, self.answers = inner, answers

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("inner", "answers"):
            raise AttributeError(name)
        real = getattr(self.inner, name)
        return (lambda *given: self.answers[name](real, *given)) if name in self.answers else real


def between(kind: type, **answers: Callable[..., Any]) -> Bug:
    """A bug in how a releaser asks for its noise."""

    def make(real: Any) -> Any:
        def start(self: Any, **given: Any) -> None:
            real(self, **given)
            self._source = Between(self._source, **answers)

        return start

    return changed(kind, "__init__", make)


# ---- how much noise -------------------------------------------------------------------------------------------------

sigma_halved = changed(covariance, "scales_of", lambda real: lambda *given: 0.5 * real(*given))
live_sigma_halved = changed(noise, "_measurement", lambda real: lambda scale: real(scale / 2))
live_stream_asks_for_half = between(ExactCov, integers=lambda real, scale, count: real(scale / 2, count))
tilt_halved = between(
    PrivateMLE,
    add=lambda real, values, scale, stream, period: real(
        values, scale / 2 if stream == tape.ESTIMATE_NOISE else scale, stream, period
    ),
)
output_noise_skipped = between(
    PrivateMLE,
    add=lambda real, values, scale, stream, period: (
        values if stream == tape.OUTPUT_NOISE else real(values, scale, stream, period)
    ),
)


def _off_diagonal_halved(real: Any) -> Any:
    def scales(sigma: float, frobenius: bool, dimension: int) -> Any:
        rows, columns = np.triu_indices(dimension)
        return np.where(rows != columns, 0.5 * sigma, real(sigma, frobenius, dimension))

    return scales


off_diagonal_noise_halved = changed(covariance, "scales_of", _off_diagonal_halved)
off_diagonal_doubled = changed(exact, "_ROOT", lambda real: 2 << 80)  # two where the root of two belongs


# ---- how much is claimed to be enough -------------------------------------------------------------------------------

sensitivity_one = changed(sensitivity, "of_covariance", lambda real: lambda adjacency: 1.0)
level_missed = changed(Tree, "column_norm", lambda real: lambda self, steps: math.sqrt(self.levels - 1))
column_norm_of_b = changed(Toeplitz, "column_norm", lambda real: lambda self, steps: self.row_norm(steps))
difference_halved = changed(
    loss,
    "_of_estimate",
    lambda real: lambda event, *given: real(replace(event, difference=event.difference / 2), *given),
)
determinant_forgotten = changed(
    loss, "_of_estimate", lambda real: lambda event, *given: real(replace(event, curvature=1e-9), *given)
)
multiplied_by_one = changed(ledger, "loss_of", lambda real: lambda event, count, adjacency: real(event, 1, adjacency))
adjacency_swapped = changed(
    learner,
    "open_ledger",
    lambda real: lambda *given, **named: real(*given, **named | {"adjacency": Adjacency.ZERO_OUT}),
)


# ---- which noise ----------------------------------------------------------------------------------------------------

node_noise_reused = between(
    PrivateCov, normals=lambda real, stream, period, count: real(stream, period & -period, count)
)


def _kept(real: Any) -> Any:
    """Draws once and keeps it."""

    def absorb(self: ExactCov, phi: Any) -> Any:
        if not isinstance(self._source, Between):
            drawn: list[list[int]] = []

            def once(ask: Any, scale: float, count: int) -> list[int]:
                if not drawn:
                    drawn.append(ask(scale, count))
                return drawn[0]

            self._source = Between(self._source, integers=once)  # type: ignore[assignment]
        return real(self, phi)

    return absorb


live_noise_reused = changed(ExactCov, "absorb", _kept)


def _until_definite(real: Any) -> Any:
    def absorb(self: ExactCov, phi: Any) -> Any:
        before, count = self.state(), self._count
        for _ in range(20):
            release = real(self, phi)
            a, b, c = release.packed
            if a > 0.0 and a * c > b * b:
                break
            self.restore(before, count)
        else:
            release = real(self, phi)
        return release

    return absorb


redrawn_when_indefinite = changed(ExactCov, "absorb", _until_definite)


def _fresh_on_restore(real: Any) -> Any:
    def restore(self: ExactCov, state: bytes, count: int) -> None:
        real(self, state, count)
        fresh = self._source.integers(self._event.noise / self._event.grid, len(self._exact[0]))
        for row in self._public[:-1]:
            row[:] = [value + each for value, each in zip(row, fresh, strict=True)]
        if self._decoded.size:
            self._decoded[-1] += np.array(fresh) * self._event.grid

    return restore


redrawn_on_restart = changed(ExactCov, "restore", _fresh_on_restore)


def _eight_bits(real: Any) -> Any:
    def measurement(scale: float) -> Callable[[list[int]], list[int]]:
        def draw(zeros: list[int]) -> list[int]:
            random = np.random.default_rng(ord(os.urandom(1)))
            return [round(scale * z) for z in random.normal(size=len(zeros))]

        return draw

    return measurement


eight_bit_seed = changed(noise, "_measurement", _eight_bits)
streams_shared = changed(
    Tape, "normals", lambda real: lambda self, stream, period, count: real(self, tape.ESTIMATE_NOISE, period, count)
)


def _from_tape(real: Any) -> Any:
    def add(self: System, values: Any, scale: float, stream: int, period: int) -> Any:
        if stream != tape.ESTIMATE_NOISE:
            return real(self, values, scale, stream, period)
        grid = grid_of(scale)
        return np.rint(Tape(0, 0).add(values, scale, stream, period) / grid) * grid

    return add


tilt_from_the_tape = changed(System, "add", _from_tape)


def _off_grid(real: Any) -> Any:
    def add(self: System, values: Any, scale: float, stream: int, period: int) -> Any:
        return values + real(self, np.zeros_like(values), scale, stream, period)  # the values are not rounded

    return add


off_its_grid = changed(System, "add", _off_grid)


def _off_grid_stream(real: Any) -> Any:
    def absorb(self: ExactCov, phi: Any) -> Any:
        release = real(self, phi)
        return CovarianceRelease(release.packed + 1e-13 * phi[0], release.records, release.event)

    return absorb


stream_off_its_grid = changed(ExactCov, "absorb", _off_grid_stream)


# ---- which records, and how often -----------------------------------------------------------------------------------


def _twice(real: Any) -> Any:
    def append(self: Records, phi: Any, demand: float) -> Any:
        real(self, phi, demand)
        return real(self, phi, demand)

    return append


counted_twice = changed(Records, "append", _twice)


def _summed_twice(real: Any) -> Any:
    def outers(phi: Any, start: int, count: int, out: Any) -> None:
        real(phi, start, count, out)
        out *= 2.0

    return outers


summed_twice = changed(covariance, "outers", _summed_twice)
clip_skipped = changed(records, "hold_to_unit_ball", lambda real: lambda phi, start, count: 0)


def _wide(real: Any) -> Any:
    def start(self: Records, dimension: int, bound: float, lowest: float | None = None) -> None:
        real(self, dimension, bound, lowest)
        self.bound *= 2.0

    return start


demand_clipped_at_twice_the_bound = changed(Records, "__init__", _wide)


def _by_batch(real: Any) -> Any:
    """Every record is divided by the longest so far, so all lie in the ball and all depend on one."""

    def append(self: Records, phi: Any, demand: float) -> Any:
        self.longest = max(getattr(self, "longest", 1.0), float(np.linalg.norm(phi)))  # type: ignore[attr-defined]
        return real(self, phi / self.longest, demand)  # type: ignore[attr-defined]

    return append


clipped_by_batch = changed(Records, "append", _by_batch)


def _learned_again(real: Any) -> Any:
    def observe(self: Slots, quote_id: str, demand: float) -> Any:
        seen = real(self, quote_id, demand)
        if seen.value == "late":  # the customer did buy after all: learn the slot once more
            self.pending.appendleft(Pending(np.array([0.5, -0.5]), demand))
        return seen

    return observe


late_outcome_learned_twice = changed(Slots, "observe", _learned_again)


def _skips_silence(real: Any) -> Any:
    def due(self: Slots) -> Any:
        if self.pending and self.count > self.delay and self.pending[0].demand is None:
            self.pending.popleft()
            self.learned += 1
            return None
        return real(self)

    return due


silence_skipped = changed(Slots, "due", _skips_silence)


def _without_end(real: Any) -> Any:
    def absorb(self: ExactCov, phi: Any) -> Any:
        self._count = min(self._count, self._event.steps - 1)
        return real(self, phi)

    return absorb


horizon_exceeded = changed(ExactCov, "absorb", _without_end)


def _drawn_before_refused(real: Any) -> Any:
    def absorb(self: ExactCov, phi: Any) -> Any:
        if self._count >= self._event.steps:
            self._source.integers(self._event.noise / self._event.grid, 3)
        return real(self, phi)

    return absorb


drawn_past_the_horizon = changed(ExactCov, "absorb", _drawn_before_refused)


# ---- the solver -----------------------------------------------------------------------------------------------------


def _early(real: Any) -> Any:
    def minimize(*given: Any) -> float:
        theta = given[7]
        start = theta.copy()
        real(*given)
        theta += 1e-4 * (start - theta)  # short of the last digits, and says that it got there
        return 0.0

    return minimize


solver_stopped_early = changed(objective_perturbation, "minimize", _early)


def _less_ridge(real: Any) -> Any:
    def start(self: PrivateMLE, **given: Any) -> None:
        real(self, **given)
        self._ridge *= 0.5

    return start


ridge_halved = changed(PrivateMLE, "__init__", _less_ridge)


# ---- the engine -----------------------------------------------------------------------------------------------------


def _leaky(real: Any) -> Any:
    def learn(self: Pricer, period: int) -> None:
        real(self, period)
        table = self.learner.records
        if table.count:
            self.quoter.theta = self.quoter.theta + 1e-6 * table.demand[table.count - 1]

    return learn


price_leaked = changed(Pricer, "_learn", _leaky)


def _raw_trigger(real: Any) -> Any:
    def learn(self: Pricer, period: int) -> None:
        table, asked = self.learner.records, self.quoter.wants_estimate

        def wants(release: CovarianceRelease) -> bool:
            phi = table.phi[:, : table.count]
            return asked(CovarianceRelease((phi @ phi.T)[np.triu_indices(2)], table.count, release.event))

        self.quoter.wants_estimate = wants  # type: ignore[method-assign]
        try:
            real(self, period)
        finally:
            del self.quoter.wants_estimate  # type: ignore[method-assign]

    return learn


raw_trigger = changed(Pricer, "_learn", _raw_trigger)


def _unspent(real: Any) -> Any:
    return lambda self, period: self.estimates.release(self.records, period)


past_the_cap = changed(Learner, "estimate", _unspent)


def _late_spending(real: Any) -> Any:
    def estimate(self: Learner, period: int) -> Any:
        release = self.estimates.release(self.records, period)
        self.ledger = self.ledger.spend(self.estimate_event)
        return release

    return estimate


charged_after_the_draw = changed(Learner, "estimate", _late_spending)
unpaid_accepted = changed(learner, "_refuse_unpaid", lambda real: lambda event, paid: None)


def _forgetful(real: Any) -> Any:
    def state(pricer: Pricer) -> Any:
        found = real(pricer)
        found.estimates_left = pricer.policy.tuning.max_estimates  # type: ignore[union-attr]
        return found

    return state


spending_forgotten = changed(saved, "_state", _forgetful)


def _telling(real: Any) -> Any:
    def append(self: Records, phi: Any, demand: float) -> Any:
        if not np.isfinite(phi).all():
            raise InvalidInput(f"a record must be finite, got {phi.tolist()}")
        return real(self, phi, demand)

    return append


refusal_tells = changed(Records, "append", _telling)
