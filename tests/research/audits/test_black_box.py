"""Planted leaks are caught; sound code passes at the same number of runs. False alarms: one call in a thousand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Logistic
from hushprice.numerics import tape
from hushprice.policies.paper.policy import paper
from hushprice.policies.paper.rules import numerical
from hushprice.policies.protocol import Policy, Setting
from hushprice.privacy.budget import EpsilonDelta, split
from hushprice.research.audits.audit import audit_policies
from hushprice.research.audits.finding import AuditFinding
from hushprice.research.audits.intervals import epsilon_floor
from hushprice.simulation import run as simulator
from hushprice.simulation import trial
from hushprice.simulation.trial import run_compiled
from hushprice.types import FloatArray

SURE = 0.999
HORIZON = 200


class Sound:
    """The next price moves with the last purchase under Laplace noise of scale 1: epsilon = 1 for y in {0, 1}."""

    claimed = EpsilonDelta(1.0, 1e-6)
    scale = 1.0

    def __init__(self, setting: Setting) -> None:
        self.setting, self.period, self.now = setting, 0, 0.5

    def price(self, context: FloatArray) -> float:
        return self.now

    def learn(self, context: FloatArray, price: float, demand: float) -> None:
        self.period += 1
        draw = tape.uniform(self.setting.seed, self.setting.trial, self.period, tape.INPUT_NOISE) - 0.5
        noise = -self.scale * math.copysign(math.log(1.0 - 2.0 * abs(draw)), draw)
        self.now = min(1.0, max(0.0, 0.5 + 0.05 * (demand + noise)))


class TooQuiet(Sound):
    """The same with a fifth of the noise: epsilon is 5, and 1 is claimed."""

    scale = 0.2


class RawRecord(Sound):
    """A price made from a raw record once in ten customers, and honest noise otherwise."""

    def learn(self, context: FloatArray, price: float, demand: float) -> None:
        super().learn(context, price, demand)
        if self.period % 10 == 1:
            self.now = 0.9 if demand > 0.0 else 0.1


def audit(policy: Any, runs: int, **settings: Any) -> AuditFinding:
    common: dict[str, Any] = {"stories": ["purchase"], "horizon": HORIZON, "workers": 1, "confidence": SURE}
    (found,) = audit_policies([policy], watchers=["prices"], runs=runs, **common | settings)
    return found


def published() -> Policy:
    budget = split(1.0, 2 / HORIZON**2)
    demand = Logistic(slope=4.0)
    return paper("published", budget, horizon=HORIZON, dimension=2, demand=demand, rules=numerical(HORIZON, 2))


def test_the_floor_of_a_randomized_response_is_its_epsilon() -> None:
    """ln 3 from 20,000 answers: approached from below, and a claim of 1.0 would be refuted."""
    generator = np.random.default_rng(2)
    first, second = generator.random(20_000) < 0.75, generator.random(20_000) < 0.25
    for one, other in ((first, second), (second, first)):
        floor = epsilon_floor(one.astype(float), other.astype(float), np.array([0.5]), 0.0, SURE)
        assert 1.0 < floor < np.log(3)
    paid = epsilon_floor(first.astype(float), second.astype(float), np.array([0.5]), 0.2, SURE)
    assert paid < np.log((0.75 - 0.2) / 0.25)  # delta is taken off first


def test_sound_code_is_not_refuted_more_often_than_stated() -> None:
    """At confidence 0.9, 400 audits of a mechanism with epsilon = 1 exactly refute at most 57 times (1 in 1,000)."""
    generator = np.random.default_rng(3)
    told = np.e / (1 + np.e)
    cuts = np.array([0.5])
    refuted = 0
    for _ in range(400):
        first, second = generator.random(300) < told, generator.random(300) < 1 - told
        refuted += epsilon_floor(first.astype(float), second.astype(float), cuts, 0.0, 0.9) > 1.0
    assert refuted <= 57


def test_noise_too_small_for_its_claim_is_caught_and_honest_noise_passes() -> None:
    settings: dict[str, Any] = {"horizon": 4, "period": 1}
    sound, quiet = audit(Sound, 1500, **settings), audit(TooQuiet, 1500, **settings)
    assert 0.3 < sound.epsilon_lower_bound <= 1.0  # the truth is 1, and the audit sees a good part of it
    assert not sound.refuted
    assert quiet.epsilon_lower_bound > 1.0
    assert quiet.refuted


def test_a_price_made_from_a_raw_record_is_caught() -> None:
    settings: dict[str, Any] = {"horizon": 4, "period": 1}
    assert audit(RawRecord, 300, **settings).epsilon_lower_bound > 2.0
    assert audit(RawRecord, 300, **settings).refuted
    assert not audit(RawRecord, 300, horizon=4, period=2).refuted  # that customer's record is treated honestly


@pytest.mark.parametrize("story", ["purchase", "attribute"])
def test_a_policy_that_claims_epsilon_and_forgets_its_noise_is_caught(
    story: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy itself cannot be made without its noise, so the simulator forgets to add it."""
    sound = published()
    assert not audit(sound, 400, stories=[story]).refuted

    def silent(policy: Policy, horizon: int, dimension: int) -> Any:
        plan = plan_of(policy, horizon, dimension)
        return plan._replace(scales=1e-12 * plan.scales, estimate_noise=1e-9, estimate_ridge=10.0, output_noise=1e-12)

    plan_of = trial.plan_of
    monkeypatch.setattr(trial, "plan_of", silent)
    assert audit(sound, 400, stories=[story]).refuted


def test_a_noise_seed_of_eight_bits_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draw looks perfectly normal; but there are only 256 of them, and a watcher can know them all."""
    assert not audit("paper", 1600).refuted

    def short(job: Any, policy: Policy, number: int, *rest: Any) -> Any:
        return run_compiled(job, policy, number % 256, *rest)

    monkeypatch.setattr(simulator, "run_compiled", short)
    found = audit("paper", 1600)
    assert found.statistic == "seen before"
    assert found.epsilon_lower_bound > 2.0
    assert found.refuted


def test_no_noise_at_all_shows_as_much_as_the_runs_can_show() -> None:
    few, many = audit("nonprivate", 200), audit("nonprivate", 1000)
    assert 1.5 < few.epsilon_lower_bound < many.epsilon_lower_bound < np.log(1000)
    assert not many.refuted  # nothing was claimed
    assert many.delta == 2 / HORIZON**2


def test_a_proven_epsilon_is_held_to_its_word_too(finding: Callable[..., AuditFinding]) -> None:
    assert not finding(epsilon_lower_bound=0.4).refuted
    assert finding(epsilon_lower_bound=0.6).refuted  # proven 0.5, though 1 was claimed
    assert not finding(epsilon_lower_bound=0.6, delta=1e-9).refuted  # the bound is about a smaller delta


@pytest.fixture
def finding() -> Callable[..., AuditFinding]:
    sound = audit("random", 8)
    proven = replace(sound.claimed, epsilon=0.5, delta=1e-6) if sound.claimed else None
    claimed = replace(proven, epsilon=1.0) if proven else None
    return lambda **changes: replace(sound, **{"claimed": claimed, "proven": proven, "delta": 1e-6} | changes)
