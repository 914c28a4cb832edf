"""Who sees every release sees nearly all that is proven, and no more. False alarms: one call in a hundred, seeded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import main_effects
from hushprice.errors import InvalidInput
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.privacy.loss import loss_of
from hushprice.research.audits import transcripts
from hushprice.research.audits.audit import audit_policies
from hushprice.research.audits.finding import AuditFinding
from hushprice.research.audits.picture import audit_picture
from hushprice.research.audits.release_runs import judge_releases, release_watches, watches_of
from hushprice.research.audits.scripted_noise import ScriptedNoise
from hushprice.research.audits.transcripts import (
    NewtonTranscripts,
    PaperTranscripts,
    stream_of,
    weights_of,
    worst_pair_of,
)
from hushprice.simulation.market import Market
from hushprice.simulation.run import prepare

HORIZON = 200


def watch(
    policy: str = "noisy-newton", *, runs: int, live: bool = False, confidence: float = 0.99, **setting: Any
) -> AuditFinding:
    job = prepare(policy, **{"horizon": HORIZON} | setting)
    made = next(each for each in watches_of(job, runs) if (each.live, each.part) == (live, ""))
    made = replace(made, runs=runs)
    return judge_releases(made, *made.run(), confidence=confidence, audits=1)


@pytest.mark.parametrize(("epsilon", "runs"), [(1.0, 20_000), (2.0, 8_000), (4.0, 4_000)])
def test_four_fifths_of_the_proven_epsilon_are_seen(epsilon: float, runs: int) -> None:
    found = watch(epsilon=epsilon, runs=runs)
    assert found.proven_mu is not None
    assert found.share is not None
    assert found.share >= 0.8
    assert found.seen.low <= found.proven_mu
    assert not found.refuted


def test_so_are_they_at_a_delta_that_no_number_of_runs_would_show() -> None:
    found = watch(epsilon=4.0, delta="1e-10", runs=6_000)
    assert (found.delta, found.refuted) == (1e-10, False)
    assert found.share is not None
    assert found.share >= 0.8
    assert found.epsilon_lower_bound < 1.5  # without a shape


def test_live_noise_hides_as_much_as_simulated_noise() -> None:
    """It comes from the operating system, so this is wrong in one call of a million."""
    found = watch(epsilon=20.0, runs=400, live=True, confidence=1.0 - 1e-6)
    assert found.share is not None
    assert 0.5 < found.share <= 1.0
    assert (found.noise, found.refuted) == ("live", False)


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
@pytest.mark.parametrize("demand", [Logistic(slope=4.0), Logistic(slope=1.0), Poisson(bound=3.0), Gaussian(bound=2.0)])
def test_the_pair_watched_is_the_worst_there_is(demand: Any, adjacency: str) -> None:
    """Without noise: how far the learner's own releases lie apart, in deviations, is the mu that is charged."""
    market = Market(demand=demand, features=main_effects(1), theta=np.array([0.3, 0.9]), contexts="uniform")
    policy = prepare("noisy-newton", market=market, horizon=HORIZON, adjacency=adjacency).policy
    assert isinstance(policy, NewtonPolicy)
    pair = worst_pair_of(policy, demand)
    weights = weights_of(policy, demand, pair)

    def released(record: Any) -> Any:
        return NewtonTranscripts(policy, demand, ScriptedNoise(np.zeros(0), then_zeros=True)).play(record)

    paid = loss_of(policy.rules.noise.event(2, live=False), 1, policy.adjacency).mu
    assert np.sqrt(weights @ (released(pair[0]) - released(pair[1]))) == pytest.approx(paid, rel=2e-3)


@pytest.mark.parametrize("horizon", [4, 60])
def test_covariances_of_the_paper_are_watched_by_calibration(horizon: int) -> None:
    """Nearly all that noise leaves of the stream is seen, short or long; `published` has noise that hides it.

    Estimates are looked at too, and tell little more.
    """
    found = watch("paper", horizon=horizon, delta="1e-6", epsilon=8.0, runs=3000)
    job = prepare("paper", horizon=horizon, delta="1e-6", epsilon=8.0)
    alone = loss_of(stream_of(job.policy), 1, job.policy.adjacency).mu
    assert found.proven_mu is not None
    assert alone < found.proven_mu < 1.1 * alone
    assert 0.85 * found.proven_mu < found.seen.low <= found.proven_mu
    assert not found.refuted
    quiet = watch("paper", calibration="published", horizon=horizon, delta="1e-6", epsilon=8.0, runs=300)
    assert quiet.seen.high < found.seen.low


@pytest.mark.parametrize(("horizon", "least"), [(60, 1.0), (1000, 0.75)])
@pytest.mark.parametrize("calibration", ["tight", "published"])
def test_what_is_charged_for_covariances_is_watched(
    calibration: str, horizon: int, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without noise: how far the releases that are watched lie apart, in deviations; of a short stream it is all."""
    monkeypatch.setattr(transcripts, "_NUMBERS", 180)
    job = prepare("paper", calibration=calibration, horizon=horizon)
    policy, demand = job.policy, job.market.demand
    pair = worst_pair_of(policy, demand)
    weights = weights_of(policy, demand, pair)
    first, second = (PaperTranscripts(policy, ScriptedNoise(np.zeros(0), then_zeros=True)).play(each) for each in pair)
    paid = loss_of(stream_of(policy), 1, policy.adjacency).mu
    assert least * (1.0 - 1e-6) < np.sqrt(weights @ (first - second)) / paid <= 1.0


def test_by_default_all_private_policies_and_calibrations_are_watched() -> None:
    findings = audit_policies(runs=8, workers=1)
    assert {(each.label, each.watcher, each.noise) for each in findings} == {
        ("noisy-newton", "releases", "live"),
        ("cautious", "releases", "simulated"),
        ("cautious", "releases", "live"),
        *((label, watcher, "simulated") for watcher in ("releases", "prices") for label in LABELS),
    }
    assert [each.label for each in findings if each.part == "estimates"] == list(LABELS[1:])
    axes = audit_picture(findings).axes[0]
    assert len(axes.get_yticklabels()) == len(findings)


LABELS = ("noisy-newton", "paper (tight)", "paper (published)", "paper (printed)")


def test_what_has_no_private_releases_is_left_out_or_refused() -> None:
    assert release_watches(["nonprivate", "random"], 8, horizon=HORIZON) == []
    with pytest.raises(InvalidInput, match=r"^policy must be one that watchers of releases can watch$"):
        audit_policies(["nonprivate"], watchers=["releases"], runs=8)
    with pytest.raises(InvalidInput, match=r"^watcher must be one of prices, releases, got 'timing'$"):
        audit_policies(watchers=["timing"], runs=8)
    with pytest.raises(InvalidInput, match="no private releases"):
        worst_pair_of(prepare("nonprivate", horizon=HORIZON).policy, Logistic())
