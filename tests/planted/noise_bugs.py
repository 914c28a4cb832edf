"""Bugs in the noise: how much there is, how much is claimed to be enough, and which draws it is made of."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from tests.planted.planting import Between, between, changed

from hushprice import noise
from hushprice.mechanisms import whole_numbers
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import System, Tape
from hushprice.numerics import tape
from hushprice.policies.paper.private import covariance, learner
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.privacy import ledger, loss, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import grid_of
from hushprice.privacy.streams import Toeplitz, Tree
from hushprice.releases import CovarianceRelease

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
off_diagonal_doubled = changed(whole_numbers, "_ROOT", lambda real: 2 << 80)  # two where the root of two belongs


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
