"""The stream's audit: sound code is held to what it claims, to the last digit, and mutants are found out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import LAYOUTS, CovarianceStream, grid_of
from hushprice.privacy.streams import Strategy, toeplitz, tree
from hushprice.releases import CovarianceRelease
from hushprice.research.audits.linear_gaussian import (
    NeighbouringStreams,
    ScriptedStreamNoise,
    audit_stream,
    mu_of_pair,
    mu_when_adaptive,
    noise_map,
    pairs_for,
    releaser_of,
)
from hushprice.types import FloatArray

STEPS = 11


def event(
    strategy: Strategy, *, steps: int = STEPS, dimension: int = 2, layout: str = "frobenius", live: bool = False
) -> CovarianceStream:
    grid = grid_of(3.0) if live else 0.0
    return CovarianceStream(strategy=strategy, steps=steps, dimension=dimension, noise=3.0, layout=layout, grid=grid)


@pytest.mark.parametrize(
    ("make", "layout", "live", "adjacency"),
    list(itertools.product((tree, toeplitz), LAYOUTS, (False, True), Adjacency)),
)
def test_sound_code_holds_and_the_claim_is_reached(make: Any, layout: str, live: bool, adjacency: Adjacency) -> None:
    finding = audit_stream(event(make(16), steps=15, layout=layout, live=live), adjacency)
    assert finding.holds, finding
    # Live noise is charged 2 grid steps a number for rounding, 2^-31 of the noise; the rest is reached.
    assert finding.found > finding.allowed * (1.0 - 1e-7)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(("dimension", "steps"), [(1, 4), (3, 5), (2, 1), (2, 2)])
def test_other_sizes_hold(dimension: int, steps: int, live: bool) -> None:
    for make in (tree, toeplitz):
        finding = audit_stream(
            event(make(steps + 1), steps=steps, dimension=dimension, live=live), Adjacency.REPLACE_ONE, adaptive=3
        )
        assert finding.holds, finding
        assert finding.found > 0.5 * finding.allowed


def test_what_noise_does_is_read_off_the_code() -> None:
    """The tree's release after 6 records is node (1-4) and node (5-6): noise 4 and 6, nothing else."""
    sized = event(tree(8), steps=7, dimension=1)
    matrix = noise_map(releaser_of(sized), sized)
    np.testing.assert_allclose(matrix[5], 3.0 * np.array([0, 0, 0, 1, 0, 1, 0]))
    np.testing.assert_allclose(matrix[6], 3.0 * np.array([0, 0, 0, 1, 0, 1, 1]))


def test_mu_of_a_given_pair_is_the_textbook_one() -> None:
    """Record 3 of 7 enters node 3 and node (1-4), which record 4 closes: phi phi' = 1 becomes 1/4 in both."""
    sized = event(tree(8), steps=7, dimension=1)
    pair = NeighbouringStreams(np.ones((7, 1)), 2, np.array([0.5]))
    build = releaser_of(sized)
    expected = 0.75 * math.sqrt(2) / 3.0
    assert mu_of_pair(build, pair, noise_map(build, sized)) == pytest.approx(expected, rel=1e-9)
    found = audit_stream(sized, Adjacency.REPLACE_ONE, pairs=[pair], adaptive=0)
    assert found.found == pytest.approx(expected, rel=1e-9)
    assert "1 neighbouring pairs: pair 0, record 3" in found.detail


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("position", [0, 4, STEPS - 1])
def test_adaptive_records_gain_nothing(position: int, live: bool) -> None:
    """Everybody after record t looks at all releases; the two worlds still differ by one record."""
    sized = event(toeplitz(STEPS + 1), live=live)
    build, seen = releaser_of(sized), []

    def chasing(transcript: Sequence[FloatArray]) -> FloatArray:
        seen.append(len(transcript))
        angle = float(np.sum(np.abs(transcript[-1]))) if transcript else 0.3
        return np.array([math.cos(angle), math.sin(angle)])

    rows = np.random.default_rng(1).normal(size=(STEPS, 3))
    crossed = lambda transcript: chasing(transcript) @ np.array([[0.0, 1.0], [-1.0, 0.0]])  # noqa: E731
    mu = mu_when_adaptive(build, noise_map(build, sized), chasing, position=position, other=crossed, rows=rows)
    column = sized.strategy.column_norm(STEPS - position)
    assert mu == pytest.approx(math.sqrt(2) * column / 3.0, rel=1e-6)
    assert max(seen) == STEPS - 1


class Mutant:
    """A releaser with one thing wrong."""

    def __init__(self, source: Any, sized: CovarianceStream, fault: str) -> None:
        self.inner = PrivateCov(horizon=sized.steps + 1, dimension=2, source=source, event=sized)
        self.fault, self.count, self.last = fault, 0, np.zeros(3)

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        self.count += 1
        release = self.inner.absorb(phi * (1.0 + (self.fault == "longer")))
        packed = release.packed.copy()
        if self.fault == "remembers":
            packed += 0.5 * self.last  # an exact trace of the last record
        if self.fault == "noise by record":
            packed *= 1.0 + float(phi[0] > 0.0)
        if self.fault == "rounded":
            packed = np.round(packed, 1)
        if self.fault == "silent once" and self.count == 3:
            packed[:] = 0.0  # publishes less: not a leak, but no longer what its noise says
        self.last = np.outer(phi, phi)[np.triu_indices(2)]
        return CovarianceRelease(packed, self.count, release.event)


@pytest.mark.parametrize("fault", ["longer", "remembers", "noise by record", "rounded"])
def test_a_mutant_is_found_out(fault: str) -> None:
    sized = event(toeplitz(STEPS + 1))
    finding = audit_stream(sized, Adjacency.REPLACE_ONE, build=lambda source: Mutant(source, sized, fault))
    assert not finding.holds
    assert finding.found > finding.allowed


def test_a_release_without_noise_of_its_own_is_infinite_only_if_it_tells() -> None:
    sized = event(toeplitz(STEPS + 1))
    finding = audit_stream(sized, Adjacency.REPLACE_ONE, build=lambda source: Mutant(source, sized, "silent once"))
    assert finding.holds


def test_a_releaser_that_cannot_repeat_itself_is_infinite() -> None:
    sized = event(tree(STEPS + 1))
    build = releaser_of(sized)
    matrix = noise_map(build, sized)
    random = np.random.default_rng(0)

    class Restless(Mutant):
        def absorb(self, phi: FloatArray) -> CovarianceRelease:
            release = self.inner.absorb(phi)
            return CovarianceRelease(release.packed + random.normal(size=3), release.records, release.event)

    along = lambda transcript: np.array([1.0, 0.0])  # noqa: E731
    restless = lambda source: Restless(source, sized, "")  # noqa: E731
    assert mu_when_adaptive(restless, matrix, along, position=0, other=along, rows=np.zeros((STEPS, 3))) == math.inf


def test_less_noise_than_the_event_says_is_found_out() -> None:
    """In the live stream too: what counts is the deviation that was asked for."""
    for live in (False, True):
        sized = event(tree(STEPS + 1), live=live)
        less = replace(sized, noise=2.0, grid=grid_of(2.0) if live else 0.0)
        finding = audit_stream(sized, Adjacency.REPLACE_ONE, build=releaser_of(less))
        assert finding.found == pytest.approx(1.5 * finding.allowed, rel=1e-6)
        assert not finding.holds


def test_pairs_differ_in_one_record_and_reach_every_kind_of_position() -> None:
    for adjacency in Adjacency:
        pairs = pairs_for(event(tree(STEPS + 1)), adjacency, np.random.default_rng(0))
        assert {pair.position for pair in pairs} == {0, STEPS // 2, STEPS - 1}
        for pair in pairs:
            changed = np.flatnonzero(np.any(pair.features != pair.second, axis=1))
            assert changed.tolist() == [pair.position]
            if adjacency is Adjacency.ZERO_OUT:
                assert not pair.other.any()


def test_the_script_says_it_protects_nobody() -> None:
    assert ScriptedStreamNoise.simulated
    assert not ScriptedStreamNoise.secure
    assert "not private" in ScriptedStreamNoise.label
