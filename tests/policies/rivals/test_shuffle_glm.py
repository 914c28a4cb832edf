"""Joint-private optimism with private fits: its noise, its matrix, and when it fits again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.policies.rivals.rival_runs import asked, customers, frame, play

from hushprice.errors import InvalidInput
from hushprice.policies.rival_parts.private import gram
from hushprice.policies.rivals.shuffle_glm.policy import FITS, ShuffleGlm, published, rival, steps_for, tight
from hushprice.policies.rivals.shuffle_glm.pricing import SMALL, Optimism, width_of
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import loss_of
from hushprice.releases import CovarianceRelease
from hushprice.research.audits.rivals import audit_rival

CLAIM = EpsilonDelta(1.0, 1e-6)


@pytest.mark.parametrize("calibration", ["published", "tight"])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_both_releases_tell_no_more_than_is_charged(calibration: str, adjacency: Adjacency) -> None:
    policy = rival(asked("shuffle-glm", calibration=calibration, adjacency=adjacency), frame(1, horizon=40))
    stream, sums = audit_rival(policy, steps=7)
    assert stream.holds
    assert sums.holds
    assert sums.found == pytest.approx(sums.allowed, rel=1e-6)
    assert policy.proven is not None
    if calibration == "tight":
        assert policy.proven.epsilon == pytest.approx(1.0, rel=1e-5)


def test_a_stream_that_forgets_to_hold_rows_or_halves_its_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, whole = rival(asked("shuffle-glm"), frame(1, horizon=40)), gram.scales_of
    with monkeypatch.context() as patched:
        patched.setattr(gram, "hold_to_unit_ball", lambda rows, start, count: 0)
        assert not audit_rival(policy, steps=7, longest=3.0)[0].holds
    monkeypatch.setattr(gram, "scales_of", lambda noise, layout, size: 0.5 * whole(noise, layout, size))
    assert not audit_rival(policy, steps=7)[0].holds


def test_the_published_noise_by_hand() -> None:
    """A node of H has C sqrt(m / 2 rho), C = 1/4, where a record needs 1/4e; fits split epsilon/3, steps their share.

    epsilon = rho + 2 sqrt(rho ln(1/delta)) is what zCDP gives for a record that is zeroed out.
    """
    noise = published(CLAIM, 3, 1000)
    assert noise.stream is not None
    assert noise.sums is not None
    rho = 11.0 / 2.0 * (0.25 / (SMALL * noise.stream.noise)) ** 2
    assert rho + 2.0 * math.sqrt(rho * math.log(3e6)) == pytest.approx(1.0 / 3.0)
    rho = 0.5 * noise.steps / noise.sums.noise**2
    assert rho + 2.0 * math.sqrt(rho * math.log(6e6)) == pytest.approx(1.0 / 6.0)
    assert noise.sums.rounds == FITS * noise.steps == 50
    assert [steps_for(each) for each in (0.05, 0.2, 0.7, 1.5, 5.0)] == [15, 25, 50, 75, 100]
    widest = 2.0 * math.log(4e6) * math.log(4000.0 / 0.02) ** 2 / 4.0
    assert noise.ridge == pytest.approx(widest + 0.75 * 3 * math.log(4000.0 / 0.02))
    loss = sum(loss_of(event, 1, Adjacency.REPLACE_ONE).mu_squared for event in (noise.stream, noise.sums))
    bought = sum(loss_of(event, 1, Adjacency.REPLACE_ONE).mu_squared for event in _events(CLAIM))
    assert loss < 0.3 * bought


def _events(claimed: EpsilonDelta) -> tuple[object, ...]:
    noise = tight(claimed, 3, 1000, Adjacency.REPLACE_ONE)
    return noise.stream, noise.sums


def test_a_fit_is_due_where_the_matrix_has_outgrown_the_last_fits() -> None:
    belief = Optimism(2, 1000, 10.0)
    event = tight(CLAIM, 2, 1000, Adjacency.REPLACE_ONE).stream
    assert event is not None
    assert belief.width == width_of(2, 1000) == pytest.approx(4.0 * math.sqrt(2.0 * math.log(1000 / 0.02)))
    enough = 10.0 * (0.05 + 5.0 / (8.0 * math.sqrt(2.0))) / SMALL
    assert not belief.accept(CovarianceRelease(np.array([0.99 * enough, 0.0, 0.0]), 5, event))
    assert belief.accept(CovarianceRelease(np.array([1.01 * enough, 0.0, 0.0]), 6, event))
    belief.keep(np.array([1.0, 0.0]))
    assert belief.inverse[0, 0] < 0.1 == belief.inverse[1, 1]
    kept = belief.inverse
    assert not belief.accept(CovarianceRelease(np.array([-2.0 * enough, 0.0, -9.0 * enough]), 7, event))
    belief.keep(np.array([2.0, 0.0]))
    assert belief.inverse is kept


def test_no_more_fits_are_made_than_were_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the matrix is said to have outgrown the last one's."""
    at = frame(1, horizon=400)
    monkeypatch.setattr(Optimism, "accept", lambda self, release: True)
    trial = rival(asked("shuffle-glm"), at).begin(at, np.random.default_rng(1))
    assert isinstance(trial, ShuffleGlm)
    play(trial, at, np.array([0.4, 1.2]), 400, np.random.default_rng(2))
    assert repr(trial._sums) == "NoisySums(0 left)"


def test_without_noise_it_learns_and_then_keeps_its_prices() -> None:
    """Two fits, both early, so the second is a rough one."""
    at, theta = frame(1, horizon=2000), np.array([0.4, 1.2])
    policy = rival(asked("shuffle-glm", drawn=False), at)
    assert (policy.claimed, policy.events) == (None, ())
    trial = policy.begin(at, np.random.default_rng(1))
    assert isinstance(trial, ShuffleGlm)
    play(trial, at, theta, 2000, np.random.default_rng(2))
    came = customers(at, 200, np.random.default_rng(3))
    wanted = at.best_prices(came, theta)
    assert np.abs(at.best_prices(came, trial.belief.theta / at.slope) - wanted).mean() < 0.12  # seeds: 0.02 to 0.1
    with pytest.raises(InvalidInput, match="calibration must be one of published, tight"):
        rival(asked("shuffle-glm", calibration="printed"), at)
