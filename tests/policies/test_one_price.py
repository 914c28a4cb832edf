"""A new policy is its folder and one line of the catalog: tests/policies/one_price is one, with its private learner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.one_price.private.learner import OnePriceLearner

from hushprice import open_pricer, simulate
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.noise import Tape
from hushprice.policies import catalog
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import loss_of
from hushprice.simulation.market import paper_market


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog.POLICIES, "few-prices", "tests.policies.one_price.policy")


def opened(**changes: Any) -> Any:
    given: dict[str, Any] = {"policy": "few-prices", "horizon": 500, "contexts": 1, "epsilon": 2.0}
    return open_pricer(**given | changes)


def test_a_live_pricer_runs_it_and_its_ledger_covers_the_claim() -> None:
    pricer = opened(delta=1e-6)
    for n in range(200):
        pricer.observe(pricer.quote([0.1]).id, n % 2)
    assert pricer.quoter.version == 1
    assert pricer.ledger.claimed == EpsilonDelta(2.0, 1e-6)
    assert pricer.policy.proven.epsilon <= 2.0


@pytest.mark.beyond_coverage
def test_the_simulator_runs_it_and_it_ends_at_one_price_that_beats_random_ones() -> None:
    common: dict[str, Any] = {"market": paper_market(2), "horizon": 3000, "trials": 2, "workers": 1}
    result = simulate("few-prices", epsilon=200.0, engine="python", keep_prices=True, **common)
    assert result.prices is not None
    assert all(len(set(trial[400:])) == 1 for trial in result.prices)
    assert result.average_regret.mean < simulate("random", **common).average_regret.mean
    with pytest.raises(InvalidInput, match="engine 'compiled' takes built-in parts only"):
        simulate("few-prices", engine="compiled", **common)


def test_one_record_moves_what_is_released_by_no_more_than_what_is_paid_for() -> None:
    """Two worlds that differ in one outcome, however far out of bounds, without their noise."""
    made = [_sold(outcome) for outcome in (0.0, 1.0, 1e9, -1e9)]
    moved = max(float(np.linalg.norm(one - other)) for one in made for other in made)
    event = opened().learner.event
    assert moved / event.score_noise <= loss_of(event, 1, Adjacency.REPLACE_ONE).mu


def test_a_learner_that_forgets_to_clip_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def unclipped(self: Any, demand: float) -> None:
        self.sold[self.learned % self.sold.size] += demand
        self.learned += 1

    monkeypatch.setattr(OnePriceLearner, "absorb", unclipped)
    with pytest.raises(AssertionError):
        test_one_record_moves_what_is_released_by_no_more_than_what_is_paid_for()


def _sold(outcome: float) -> Any:
    learner = opened(source=Tape(0, 0), simulation=True).learner
    for demand in (1.0, outcome, 0.0):
        learner.absorb(demand)
    return learner.sold


def test_nothing_is_released_twice_and_what_it_does_not_read_is_refused() -> None:
    learner = opened().learner
    learner.release()
    with pytest.raises(BudgetExhausted):
        learner.release()
    with pytest.raises(InvalidInput, match=r"width is for policies 'paper', .* got 2.0 for policy 'few-prices'"):
        opened(width=2.0)


def test_a_claim_that_its_noise_does_not_prove_is_refused() -> None:
    policy = opened().policy
    with pytest.raises(InvalidInput, match="claimed must be what the noise was bought with"):
        type(policy)(
            name="few-prices",
            rules=policy.rules,
            basis=policy.basis,
            claimed=EpsilonDelta(0.1, 1e-9),
            proven=policy.proven,
        )


def test_what_prices_loads_nothing_that_reads_records() -> None:
    root = Path(__file__).resolve().parents[2]
    code = "import sys, tests.policies.one_price.pricing.quoter; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert not {name for name in ran.stdout.split() if ".private" in name or name == "hushprice.records"}


def test_without_a_saved_form_or_statements_it_is_neither_saved_nor_certified(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="policy is not one of hushprice's own"):
        opened().save(tmp_path / "pricer")
