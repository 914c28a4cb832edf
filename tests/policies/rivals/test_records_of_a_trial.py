"""Over whole trials: a record is handed to releasers as often as the rival's events are charged for, and no more.

Audits of events look at one releaser; here a trial is played and every row that its private side takes is counted.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.policies.rivals.rival_runs import asked, frame, play

from hushprice.policies import POLICIES
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.private.gram import GramReleaser
from hushprice.policies.rival_parts.private.laplace_tree import LaplaceTree
from hushprice.policies.rival_parts.private.sales import SalesReleaser
from hushprice.policies.rival_parts.private.sums import NoisySums
from hushprice.policies.rivals.almost_free import policy as almost_free
from hushprice.types import FloatArray

HORIZON = 3000
THETA = np.array([0.3, 0.9])
AT = frame(1, horizon=HORIZON)

# Of each rival: the functions of its policy module that take records as rows, and which argument the rows are.
FUNCTIONS = {"ldp-glm": ("reports", 0), "ldp-mab": ("report", 0), "ldp-sgd": ("send", 1), "glm-pricing": ("send", 1)}
# The releasers that it feeds: class, method, and which argument the rows are.
RELEASERS: dict[str, tuple[tuple[Any, str, int], ...]] = {
    "shariff-sheffet": ((GramReleaser, "absorb_many", 0),),
    "shariff-sheffet-revenue": ((GramReleaser, "absorb_many", 0),),
    "shuffle-glm": ((GramReleaser, "absorb_many", 0), (NoisySums, "of", 0)),
    "almost-free": ((NoisySums, "of", 0),),
    "offline-private": ((NoisySums, "of", 0),),
    "one-price": ((SalesReleaser, "absorb", 1),),
    "mishra-ucb": ((LaplaceTree, "absorb", 0),),
    "mishra-thompson": ((LaplaceTree, "absorb", 0),),
}


def taken(name: str, monkeypatch: pytest.MonkeyPatch, wrap: Callable[[Any], Any] = lambda trial: trial) -> list[int]:
    """How many rows each releaser takes in a trial, by event."""
    module = importlib.import_module(POLICIES[name])
    counts = [0] * max(1, len(RELEASERS.get(name, ())))

    def counting(at: int, argument: int, plain: Any, method: bool) -> Any:
        def counted(*given: Any) -> Any:
            counts[at] += len(np.atleast_1d(given[argument + method]))
            return plain(*given)

        return counted

    if name in FUNCTIONS:
        function, argument = FUNCTIONS[name]
        monkeypatch.setattr(module, function, counting(0, argument, getattr(module, function), method=False))
    for at, (releaser, method, argument) in enumerate(RELEASERS.get(name, ())):
        monkeypatch.setattr(releaser, method, counting(at, argument, getattr(releaser, method), method=True))
    policy = module.rival(asked(name), AT)
    play(wrap(policy.begin(AT, np.random.default_rng(1))), AT, THETA, HORIZON, np.random.default_rng(2))
    return counts


def paid_for(name: str) -> list[int]:
    """Rows that the events of a trial pay for: every customer once, or once a round of sums."""
    events = importlib.import_module(POLICIES[name]).rival(asked(name), AT).events
    return [HORIZON * getattr(event, "rounds", 1) for event in events]


def test_every_rival_that_claims_something_is_counted() -> None:
    names = {name for name, module in POLICIES.items() if ".rivals." in module}
    made = {name: importlib.import_module(POLICIES[name]).rival(asked(name), AT) for name in names}
    assert {name for name, policy in made.items() if policy.private} == {*FUNCTIONS, *RELEASERS}


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("name", [*FUNCTIONS, *RELEASERS])
def test_a_trial_takes_no_more_rows_than_its_events_pay_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = taken(name, monkeypatch)
    assert all(0 < each <= most for each, most in zip(rows, paid_for(name), strict=True))


def test_records_that_stay_for_the_next_epoch_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Rows(AT.dimension)
    monkeypatch.setattr(almost_free, "Rows", lambda dimension: kept)
    # A later epoch then ends with its first customer, since the rows of the one before are still there.
    assert taken("almost-free", monkeypatch)[0] > paid_for("almost-free")[0]


class _Twice:
    """A trial in which every customer's record is taken twice."""

    def __init__(self, trial: Any) -> None:
        self._trial = trial
        self.prices = trial.prices

    @property
    def due(self) -> int:
        return int(self._trial.due)

    def learn(self, customers: Any, prices: FloatArray, demands: FloatArray) -> None:
        for _ in range(2):
            self._trial.learn(customers, prices, demands)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("name", ["shariff-sheffet", "ldp-glm", "ldp-mab", "ldp-sgd", "mishra-ucb"])
def test_records_that_are_taken_twice_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken(name, monkeypatch, _Twice)[0] > paid_for(name)[0]
