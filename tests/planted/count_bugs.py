"""Bugs in noisy counts of rows: how many of a person's rows count, their noise, their threshold, what is charged."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.planted.planting import changed

from hushprice.logs import table_counts
from hushprice.logs.bounded import Taken
from hushprice.logs.table_counts import Asker
from hushprice.privacy import loss, sensitivity
from hushprice.privacy.loss import Loss


def _paid(change: Any) -> Any:
    return changed(Asker, "_paid", lambda real: lambda self, event, counts: change(self, real, event, counts))


def _quiet(self: Any, real: Any, event: Any, counts: Any) -> Any:
    noisy = real(self, event, counts)
    return counts + 0.5 * (noisy - counts)


def _unpaid(self: Any, real: Any, event: Any, counts: Any) -> Any:
    before = self.ledger
    noisy = real(self, event, counts)
    self.ledger = before
    return noisy


people_not_bounded = changed(Taken, "keep", lambda real: lambda self, customers: np.ones(customers.size, dtype=bool))
one_row_too_many = changed(Taken, "__init__", lambda real: lambda self, most: real(self, most + 1))
row_counted_twice = changed(table_counts, "cells_of", lambda real: lambda *given, **named: 2 * real(*given, **named))
noise_halved = _paid(_quiet)
question_not_paid = _paid(_unpaid)
threshold_forgotten = changed(Asker, "_threshold", lambda real: property(lambda self: 0.0))
replaced_taken_for_zeroed = changed(sensitivity, "of_counts", lambda real: lambda rows, adjacency: float(rows))
failure_forgotten = changed(loss, "_of_counts", lambda real: lambda *given: _without(real(*given)))


def _without(charged: Loss) -> Loss:
    return Loss(mu_squared=charged.mu_squared, coordinates=charged.coordinates)
