"""Joint-private LinUCB: what it releases, what that costs, and what it makes of it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from tests.policies.rivals.rival_runs import asked, customers, frame, play, shop_frame

from hushprice.errors import InvalidInput
from hushprice.noise import Tape
from hushprice.policies.rival_parts.private import gram as private
from hushprice.policies.rival_parts.private.gram import GramReleaser
from hushprice.policies.rivals.shariff_sheffet.policy import published, rival, tight
from hushprice.policies.rivals.shariff_sheffet.pricing import Ellipsoid, LinearDemand, LinearRevenue
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import loss_of
from hushprice.releases import CovarianceRelease
from hushprice.research.audits.rivals import audit_rival

CLAIM = EpsilonDelta(1.0, 1e-6)
NAMES = ("shariff-sheffet", "shariff-sheffet-revenue")


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("calibration", ["published", "tight"])
def test_all_releases_together_tell_no_more_than_is_charged(name: str, calibration: str) -> None:
    """Exact: everything released is Gaussian, so the audit finds the largest mu of neighbouring streams itself."""
    policy = rival(asked(name, calibration=calibration), frame(1, horizon=40))
    (found,) = audit_rival(policy, steps=7)
    assert found.holds
    assert found.found == pytest.approx(found.allowed, rel=0.35)  # some pair takes most of what is charged


def test_rows_that_are_not_held_to_the_ball_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = rival(asked(NAMES[0]), frame(1, horizon=40))
    monkeypatch.setattr(private, "hold_to_unit_ball", lambda rows, start, count: 0)
    # The audit's own records are held already, so what is fed here is longer than any record may be.
    (found,) = audit_rival(policy, steps=7, longest=3.0)
    assert not found.holds


def test_noise_that_is_halved_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = rival(asked(NAMES[0]), frame(1, horizon=40))
    whole = private.scales_of
    monkeypatch.setattr(private, "scales_of", lambda noise, layout, size: 0.5 * whole(noise, layout, size))
    assert not audit_rival(policy, steps=7)[0].holds


def test_the_published_noise_costs_epsilon_over_four_ln_four_over_delta() -> None:
    """Closed form: s = 4 sqrt(m) L~^2 ln(4/delta)/epsilon a node, sensitivity sqrt(2) L~^2 in each of m nodes."""
    event = published(CLAIM, 4, 1000).event
    assert loss_of(event, 1, Adjacency.REPLACE_ONE).mu == pytest.approx(1.0 / (4.0 * math.log(4e6)), rel=1e-6)
    policy = rival(asked(NAMES[0], calibration="published"), frame())
    assert policy.proven is not None
    assert policy.proven.epsilon < 0.2  # at nominal 1: the source's accounting is loose
    assert rival(asked(NAMES[0]), frame()).proven.epsilon == pytest.approx(1.0, rel=1e-6)  # type: ignore[union-attr]


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("make", [published, tight])
def test_the_noise_stays_within_its_bounds(make: Any) -> None:
    """200 released sums of nothing: a bound for one in 2 T^2 = 8e6 is never passed, by chance once in 40,000 runs."""
    given = (CLAIM, 4, 2000) + ((Adjacency.REPLACE_ONE,) if make is tight else ())
    noise = make(*given)
    for trial in range(10):
        releaser = GramReleaser(4, 2000, noise.event, Tape(3, trial))
        for _ in range(20):
            releaser.absorb_many(np.zeros((90, 4)))
            gram = np.zeros((4, 4))
            gram[np.triu_indices(4)] = releaser.release().packed
            gram = 2.0 * (gram + np.triu(gram, 1).T)
            assert np.abs(np.linalg.eigvalsh(gram[:3, :3])).max() < noise.spread
            assert np.linalg.norm(gram[:3, 3]) < noise.drift


@pytest.mark.parametrize("at", [frame(), shop_frame()], ids=["market", "shop"])
@pytest.mark.parametrize("arms", [LinearDemand, LinearRevenue])
def test_without_noise_the_sum_is_exact_and_every_row_fits_the_ball(arms: Any, at: Any) -> None:
    rng, made = np.random.default_rng(3), arms(at)
    came = customers(at, 300, rng)
    rows = made.rows(came, rng.uniform(at.lowest, at.highest, 300), (rng.random(300) < 0.5).astype(float))
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-12
    releaser = GramReleaser(made.dimension + 1, 1000, None, Tape(0, 0))
    releaser.absorb_many(rows[:100])
    releaser.absorb_many(rows[100:])
    np.testing.assert_allclose(releaser.release().packed, (rows.T @ rows)[np.triu_indices(made.dimension + 1)])
    assert "sensitive" in repr(releaser)


def test_outcomes_are_held_to_the_unit_interval_and_what_is_no_number_is_refused() -> None:
    came = customers(frame(), 1, np.random.default_rng(0))
    rows = [LinearDemand(frame()).rows(came, np.array([0.5]), np.array([y])) for y in (1.0, 9.0)]
    np.testing.assert_array_equal(*rows)
    with pytest.raises(InvalidInput, match="must be finite"):
        GramReleaser(4, 10, None, Tape(0, 0)).absorb_many(np.array([[math.nan, 0.0, 0.0, 0.0]]))
    with pytest.raises(InvalidInput, match="event must describe this release"):
        GramReleaser(5, 10, tight(CLAIM, 4, 10, Adjacency.REPLACE_ONE).event, Tape(0, 0))


def test_records_past_the_horizon_change_nothing() -> None:
    event = tight(CLAIM, 3, 6, Adjacency.REPLACE_ONE).event
    releaser = GramReleaser(3, 6, event, Tape(0, 0))
    releaser.absorb_many(np.full((9, 3), 0.5))
    packed = releaser.release().packed
    releaser.absorb_many(np.full((4, 3), 0.5))
    np.testing.assert_array_equal(releaser.release().packed, packed)
    assert releaser.release().records == event.steps == 5


def test_the_belief_is_ridge_regression_and_its_width_the_sources() -> None:
    """Oracle: the formulas of the source on an exact sum, spread 1 and drift 0."""
    rng = np.random.default_rng(5)
    psi, y = rng.normal(size=(400, 3)) / 4.0, rng.random(400)
    rows = np.column_stack([psi, y]) / math.sqrt(2.0)
    belief = Ellipsoid(3, 1000, 1.0, 0.5, size=2.0)
    packed = (rows.T @ rows)[np.triu_indices(4)]
    belief.accept(CovarianceRelease(packed, 400, rival(asked(NAMES[0]), frame()).events[0]))  # type: ignore[arg-type]
    v = psi.T @ psi + 2.0 * np.eye(3)
    np.testing.assert_allclose(belief.theta, np.linalg.solve(v, psi.T @ y))
    root = math.sqrt(2.0 * math.log(4000.0) + math.log(np.linalg.det(v)))
    assert belief.width == pytest.approx(0.5 * root + 2.0 * math.sqrt(3.0) + 0.5)
    belief.accept(CovarianceRelease(-9.0 * packed, 400, rival(asked(NAMES[0]), frame()).events[0]))  # type: ignore[arg-type]
    np.testing.assert_allclose(belief.inverse, np.linalg.inv(v))  # beyond its bound: the last belief stays


def test_without_noise_it_learns_and_claims_nothing() -> None:
    """It begins at the ceiling and comes down towards the best price, which is about 0.5 for everybody."""
    at = frame(1, horizon=6000)
    policy = rival(dataclasses.replace(asked(NAMES[0]), drawn=False), at)
    assert (policy.claimed, policy.proven, policy.events, policy.reads_budget) == (None, None, (), False)
    rng, theta = np.random.default_rng(2), np.array([0.1, 0.9])
    prices = play(policy.begin(at, rng), at, theta, 6000, np.random.default_rng(4))
    assert prices[:50].mean() > 0.95
    assert 0.4 < prices[-500:].min() < 0.65
    assert prices[-500:].mean() < 0.9
    with pytest.raises(InvalidInput, match="calibration must be one of published, tight, got 'printed'"):
        rival(asked(NAMES[0], calibration="printed"), at)
