"""Sums and reports with Gaussian noise: what a record can move, how often, and planted bugs that are caught."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.policies.rivals.rival_runs import asked, frame

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.policies.catalog import _module
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.private import sums
from hushprice.policies.rival_parts.private.descent import descend
from hushprice.policies.rival_parts.private.sums import NoisySums, reports
from hushprice.policies.rivals.almost_free.private import epoch_sum
from hushprice.policies.rivals.offline_private.private import step_sum
from hushprice.privacy.events import GaussianSums
from hushprice.research.audits import rivals as audits
from hushprice.research.audits.rivals import audit_rival
from hushprice.types import FloatArray

GAUSSIAN = (
    "shuffle-glm",
    "ldp-glm",
    "offline-private",
    "almost-free",
)  # rivals that release such sums, or whose devices send them


def made(name: str) -> Any:
    return _module(name).rival(asked(name), frame(1, horizon=100))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_rows_that_are_not_held_to_the_ball_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert audit_rival(made(name), steps=3)[-1].holds
    monkeypatch.setattr(sums, "_held", lambda rows: rows)
    assert not audit_rival(made(name), steps=3)[-1].holds


@pytest.mark.parametrize("name", GAUSSIAN)
def test_half_the_noise_and_a_sum_too_many_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Half(NoisySums):
        def __init__(self, event: Any, rng: Any) -> None:
            super().__init__(GaussianSums(rounds=event.rounds, noise=0.5 * event.noise, apart=event.apart), rng)

    class Endless(NoisySums):
        def of(self, rows: FloatArray) -> FloatArray:
            self._left = 9
            return super().of(rows)

    for bug in (Half, Endless):
        monkeypatch.setattr(audits, "NoisySums", bug)
        assert not audit_rival(made(name), steps=3)[-1].holds


def test_reports_with_half_the_noise_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    event = GaussianSums(rounds=1, noise=4.0)
    policy = made("shuffle-glm")
    assert audits._measured(policy, event, 3, 1.0, 0).holds
    half = GaussianSums(rounds=1, noise=2.0)
    monkeypatch.setattr(audits, "reports", lambda rows, event, rng: reports(rows, half, rng))
    assert not audits._measured(policy, event, 3, 1.0, 0).holds


def test_a_sum_is_exact_without_noise_and_has_its_noise_otherwise() -> None:
    rows = rng(1).normal(size=(50, 3)) / 5.0
    rows[0] = [30.0, 40.0, 0.0]
    held = np.vstack([[0.6, 0.8, 0.0], rows[1:]])
    exact = NoisySums(None, rng())
    np.testing.assert_allclose(exact.of(rows), held.sum(axis=0))
    np.testing.assert_allclose(reports(rows, None, rng()), held)
    event = GaussianSums(rounds=2, noise=5.0)
    noisy = NoisySums(event, rng(2))
    noise = rng(2).standard_normal(3)
    np.testing.assert_allclose(noisy.of(rows), held.sum(axis=0) + 5.0 * noise)
    np.testing.assert_allclose(reports(rows, event, rng(2)), held + 5.0 * rng(2).standard_normal((50, 3)))
    noisy.of(rows)
    with pytest.raises(BudgetExhausted):
        noisy.of(rows)
    assert repr(noisy) == "NoisySums(0 left)"
    with pytest.raises(InvalidInput, match="must be finite"):
        exact.of(np.array([[math.nan]]))


def test_a_descent_without_noise_ends_at_the_maximum_of_the_likelihood() -> None:
    """Oracle: a general minimizer of the same loss. Averages of 2,000 steps are within 0.01 of it."""
    at, draw, rows = frame(1, horizon=500), rng(5), Rows(2)
    phi = draw.normal(size=(500, 2)) / 2.0
    offset = draw.normal(size=500) / 3.0
    rows.add(phi, offset, (draw.random(500) < 1.0 / (1.0 + np.exp(-offset - phi @ [1.0, -2.0]))).astype(float))

    def loss(theta: FloatArray) -> float:
        z = offset + phi @ theta
        return float(np.mean(np.logaddexp(0.0, z) - rows.bought * z) + 1e-5 * theta @ theta)

    found = descend(rows, at, np.zeros(2), NoisySums(None, draw), steps=400, clip=3.0)
    np.testing.assert_allclose(found, minimize(loss, np.zeros(2)).x, atol=0.02)


class _Seen:
    """Keeps the rows that it is to add up."""

    def __init__(self) -> None:
        self.rows: list[FloatArray] = []

    def of(self, rows: FloatArray) -> FloatArray:
        self.rows.append(rows.copy())
        return np.zeros(rows.shape[1])


def _rows_of(phi: FloatArray, offset: FloatArray, bought: FloatArray, dimension: int) -> list[FloatArray]:
    given, seen, random = Rows(dimension), _Seen(), rng(9)
    for i in range(len(bought)):  # as a live rival meets them
        given.add(phi[i : i + 1], offset[i : i + 1], bought[i : i + 1])
    theta, u = random.normal(size=dimension), random.normal(size=(dimension, dimension))
    epoch_sum(given, 1.7, theta, u, seen)  # type: ignore[arg-type]
    step_sum(given, 1.7, theta, seen)  # type: ignore[arg-type]
    descend(given, frame(dimension - 1), theta, seen, steps=11, clip=0.2)  # type: ignore[arg-type]
    return seen.rows


@pytest.mark.parametrize("count", [1, 2, 3, 8, 33, 511])
@pytest.mark.parametrize("dimension", [2, 3, 9])
def test_a_replaced_record_moves_no_other_row_by_a_bit(count: int, dimension: int) -> None:
    """Else two worlds' whole numbers would differ in all records: docs/proofs/pure.md, section 5."""
    random = rng(count)
    phi, offset = random.normal(size=(count, dimension)), random.normal(size=count)
    bought, at = (random.random(count) < 0.5).astype(float), int(random.integers(count))
    before = _rows_of(phi, offset, bought, dimension)
    phi[at], offset[at], bought[at] = 100.0 * random.normal(size=dimension), 50.0, 1.0 - bought[at]
    others = np.arange(count) != at
    for one, other in zip(before, _rows_of(phi, offset, bought, dimension), strict=True):
        assert np.array_equal(one[others], other[others])
