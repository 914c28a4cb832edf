"""Bugs in what a customer with several records is promised, and the check that plays two of their worlds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.planted.planting import changed

from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.errors import InvalidInput
from hushprice.policies.newton.private.batches import Scorer
from hushprice.policies.newton.private.scores import ROWS
from hushprice.policies.newton.rules import newton
from hushprice.privacy import customers, gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import RowCounts
from hushprice.privacy.loss import Loss, loss_of
from hushprice.types import FloatArray

CLAIM = EpsilonDelta(1.0, 1e-6)
RECORDS = 5


def _by_the_root(real: Any) -> Any:
    def loss_of_customer(loss: Loss, records: int) -> Loss:
        return Loss(mu_squared=loss.mu_squared * records, coordinates=loss.coordinates * records)

    return loss_of_customer


# What is right for records of different people, or for one person in different products.
records_counted_by_their_root = changed(customers, "loss_of_customer", _by_the_root)
# Of texts that nobody declared: that the loss may not hold is forgotten, and with m records it may fail m times.
failures_forgotten = changed(
    customers, "loss_of_customer", lambda real: lambda loss, records: real(replace(loss, failure=0.0), records)
)
records_counted_as_one = changed(customers, "loss_of_customer", lambda real: lambda loss, records: real(loss, 1))


def customers_are_covered() -> None:
    """All records of a customer in one batch, who bought each time in one world and never in the other."""
    demand, features = Logistic(), main_effects(1)
    rules = newton(CLAIM, demand=demand, features=features)
    loss = loss_of(rules.noise.event(2, live=True), 1, Adjacency.REPLACE_ONE)
    promised = customers.guarantee_of([(loss, RECORDS)], CLAIM.delta)
    scores = [_summed(Scorer(demand=demand, cap=rules.cap), bought) for bought in (0.0, 1.0)]
    apart = float(np.linalg.norm(scores[0] - scores[1])) / rules.noise.score
    assert gaussian.delta_of(promised.epsilon, apart) <= CLAIM.delta


def a_loss_that_may_fail_is_refused() -> None:
    counts = RowCounts(rows=3, noise=100.0, threshold=800.0, live=True)
    try:
        customers.guarantee_of([(loss_of(counts, 1, Adjacency.REPLACE_ONE), RECORDS)], CLAIM.delta)
    except InvalidInput:
        return
    raise AssertionError("a guarantee was given whose failure is charged to nothing")


def _summed(scorer: Scorer, bought: float) -> FloatArray:
    total, work = np.zeros(2), np.empty((ROWS, 1))
    for _ in range(RECORDS):
        phi = np.array([[0.0], [-1e-6]])  # short features: nothing reduces their weight, and the score has length 1
        scorer.weigh(phi, np.array([bought]), np.zeros(2), np.eye(2) * 1e-6, work)
        total += phi[:, 0] * work[2, 0]
    return total
