"""What a row, or a customer, adds to the sums of a fit: bounded, and the same whoever comes with it."""

from __future__ import annotations

import importlib.util
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from tests.logs.fit.fit_logs import PRODUCT, THETA, ArrayLog, drawn, features_of, noise_of, state_of

from hushprice.errors import InvalidInput
from hushprice.logs.fit import description, fit_estimate, row_columns, score_plan, whole_sums
from hushprice.logs.fit.description import Moments
from hushprice.logs.fit.fit_noise import DESCRIPTION_SHARES, SCORE_SHARES
from hushprice.logs.fit.likeness import likeness_of
from hushprice.logs.fit.passes_of_fit import FitState
from hushprice.logs.fit.score_plan import ScorePlan, plan_score, poured
from hushprice.logs.fit.whole_sums import Adding, published
from hushprice.logs.passes import run_pass
from hushprice.logs.rows import LogRows
from hushprice.noise import Tape
from hushprice.numerics import jit
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.privacy.certificates.fit_facts import entries
from hushprice.product import Product
from hushprice.types import FloatArray


def plans_of(product: Product, seed: int = 0) -> list[ScorePlan]:
    """The plans of a fit of a log that is nothing like the model."""
    random = np.random.default_rng(seed)
    count, k = 400, product.contexts
    log = ArrayLog(
        random.choice([-1.0, 0.2, 1.0], (count, k)),
        random.normal(size=count) * 0.2,
        random.choice([0.0, 0.5, 1.0], count),
    )
    return [each.plan for each in state_of(log, 3.0, seed, product).scores]


def test_shares_of_the_budget_are_all_of_it() -> None:
    assert math.isclose(sum(DESCRIPTION_SHARES) + sum(SCORE_SHARES), 1.0)


def again(k: int, radius: float) -> description.DescriptionPlan:
    """A second description by a first that found nearly nothing to vary."""
    random = np.random.default_rng(k)
    triangle = np.tril(random.normal(size=(k + 1, k + 1))) + 4.0 * np.eye(k + 1)
    return description.DescriptionPlan(random.uniform(-1.0, 1.0, k + 1), triangle, radius)


@pytest.mark.parametrize("k", [0, 1, 2, 5, 12, 32])
def test_two_descriptions_differ_by_at_most_one_and_one_is_no_longer_than_that(k: int) -> None:
    random = np.random.default_rng(k)
    count = 60
    x, z = random.choice([-1.0, 1.0, 0.3], (count, k)), random.uniform(-1.0, 1.0, count)
    for plan in (None, again(k, 0.5), again(k, 3.0)):
        rows = description.described(x, z, plan)
        assert rows.shape == (count, entries(k)[0])
        between = np.linalg.norm(rows[:, None, :] - rows[None, :, :], axis=2)
        assert between.max() <= 1.0 + 1e-12
        assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-12


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_the_largest_change_of_a_description_is_what_a_search_finds(size: int) -> None:
    """|vv' - ww'|^2 + 2 |v - w|^2 over the ball, by many starts of an optimizer."""
    radius, random = description.RADIUS * math.sqrt(size), np.random.default_rng(size)

    def apart(both: FloatArray) -> float:
        v, w = (part * min(1.0, radius / max(np.linalg.norm(part), 1e-12)) for part in np.split(both, 2))
        return -float(np.sum((np.outer(v, v) - np.outer(w, w)) ** 2) + 2.0 * np.sum((v - w) ** 2))

    best = min(minimize(apart, random.normal(size=2 * size) * radius, method="Nelder-Mead").fun for _ in range(12))
    found = math.sqrt(-best)
    assert found <= description.largest_change(radius) * (1.0 + 1e-9)
    assert found >= 0.98 * description.largest_change(radius)


@pytest.mark.parametrize(("k", "conversion"), list(itertools.product([0, 1, 3], [0.02, 0.4, 0.9])))
def test_two_rows_of_a_score_are_at_most_one_apart(k: int, conversion: float) -> None:
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=conversion, elasticity=1.5, contexts=k)
    random = np.random.default_rng(1)
    for plan in plans_of(product):
        x, z = random.choice([-1.0, 0.98, 1.0], (200, k)), random.choice([-1.0, 0.98, 1.0], 200)
        y = random.choice([0.0, 0.5, 1.0], 200)
        for theta in (plan.theta, 30.0 * random.normal(size=product.contexts * 2 + 2)):
            rows = _at(plan, theta).contributions(x, z, y)
            assert np.linalg.norm(rows[:, None, :] - rows[None, :, :], axis=2).max() <= 1.0 + 1e-12
            assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-12
        assert float(plan.weights[0]) ** 2 + plan.own**2 == pytest.approx(1.0)
        assert 2.0 * plan.own <= 1.0 + plan.largest + 1e-12


@pytest.mark.parametrize("bought", [50.0, -50.0])
def test_residuals_are_held_whatever_was_bought(bought: float) -> None:
    """The bound rests on that alone; weights keep to it by themselves so that nothing is lost by it."""
    log = drawn(200, 5)
    for plan in plans_of(PRODUCT):
        rows = plan.contributions(log.contexts, log.prices, np.where(log.demands > 0.5, bought, 0.0))
        assert np.linalg.norm(rows[:, None, :] - rows[None, :, :], axis=2).max() <= 1.0 + 1e-12
        assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-12


@pytest.mark.parametrize(("k", "conversion"), [(0, 0.02), (3, 0.3), (3, 0.9)])
def test_what_rows_add_is_what_the_formulas_say(k: int, conversion: float) -> None:
    """Array by array, in NumPy, with SciPy's chances."""
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=conversion, contexts=k)
    log = drawn(700, 1, np.zeros(2 * k + 2), product)  # more than are worked on at once
    x, z = log.contexts, log.prices
    for plan in plans_of(product):
        chances = expit(features_of(log) @ plan.theta + plan.model.level - plan.model.response * z)
        residuals = plan.residual_weights(chances) * (plan.rare(log.demands) - plan.rare(chances))
        expected = residuals[:, None] / (1.0 + plan.largest) * plan.instruments(x, z)
        np.testing.assert_allclose(plan.contributions(x, z, log.demands), expected, rtol=0.0, atol=1e-13)
    plan = again(k, 1.5)
    v = (np.column_stack([x, z]) - plan.centre) @ plan.whitening.T
    v *= np.minimum(1.0, 1.5 / np.linalg.norm(v, axis=1))[:, None]
    left, right = np.triu_indices(k + 1)
    squares = v[:, left] * v[:, right] * np.where(left == right, 1.0, math.sqrt(2.0))
    most = description.largest_change(1.5)
    first = np.full((len(z), 1), math.sqrt(most**2 - 2.0 * 1.5**2 - 1.5**4))
    expected = np.hstack([first, math.sqrt(2.0) * v, squares]) / most
    np.testing.assert_allclose(description.described(x, z, plan), expected, rtol=0.0, atol=1e-13)


def test_compiled_or_not_sums_are_the_same_to_the_last_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = [None, again(2, 1.5), *plans_of(PRODUCT)]
    (block,) = drawn(300, 8).blocks(0)
    block.contexts[0], block.prices[1], block.demands[2] = math.nan, 7.0, math.inf
    compiled = [Adding(1, plan)(block) for plan in plans]
    with monkeypatch.context() as patch:
        patch.setattr(jit, "_compile", lambda function, **options: function)
        found = importlib.util.spec_from_file_location("plain_columns", row_columns.__file__)
        assert found is not None
        assert found.loader is not None
        plain = importlib.util.module_from_spec(found)
        found.loader.exec_module(plain)
    monkeypatch.setattr(plain, "exp", getattr(plain.exp, "py_func", plain.exp))
    for owner, name in (
        (whole_sums, "hold"),
        (whole_sums, "add_whole"),
        (score_plan, "score_columns"),
        (description, "description_columns"),
    ):
        monkeypatch.setattr(owner, name, getattr(plain, name))
    for plan, expected in zip(plans, compiled, strict=True):
        assert np.array_equal(Adding(1, plan)(block), expected)


def _at(plan: ScorePlan, theta: FloatArray) -> ScorePlan:
    return replace(plan, theta=theta)


@pytest.mark.parametrize(
    "wrong",
    [
        {"weights": np.full(6, math.nan)},
        {"weights": np.array([1.1, 0.0, 0.0, 0.0, 0.0, 0.0])},
        {"weights": np.array([0.7, 0.5, 0.5, 0.0, 0.0, 0.0]), "largest": 0.2},  # two may be 2 b / (1 + L) apart
        {"largest": 0.0},
        {"largest": 1.5},
        {"heaviest": math.inf},
        {"price_scale": math.nan},
        {"whitening": np.full((2, 2), math.inf)},
        {"centre": np.full(3, math.nan)},
    ],
)
def test_a_plan_that_the_proof_does_not_cover_adds_nothing_up(wrong: dict[str, Any]) -> None:
    """Numbers that are none would be cut to the least whole number of 64 bits, row by row."""
    plan = plans_of(PRODUCT)[0]
    assert Adding(1, plan).plan is plan
    with pytest.raises(InvalidInput, match="a plan of a score must be finite"):
        Adding(1, replace(plan, **wrong))


@pytest.mark.parametrize("wrong", [{"radius": 0.0}, {"radius": math.inf}, {"centre": np.full(3, math.nan)}])
def test_a_description_that_is_no_plan_adds_nothing_up(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="a plan of a description must be finite"):
        Adding(1, replace(again(2, 1.5), **wrong))


@pytest.mark.parametrize("kind", ["score", "description"])
def test_rows_and_plans_of_other_sizes_are_refused(kind: str) -> None:
    """A compiled loop would read what lies beside an array."""
    plan: Any = plans_of(PRODUCT)[0] if kind == "score" else again(2, 1.5)
    with pytest.raises(InvalidInput, match=r"size|as many rows and columns"):
        Adding(1, replace(plan, whitening=np.eye(5)))
    (block,) = drawn(9).blocks(0)
    with pytest.raises(InvalidInput, match="rows must have"):
        Adding(1, plan)(block._replace(contexts=np.zeros((9, 3))))


def test_a_belief_beyond_all_floats_keeps_to_the_bounds() -> None:
    plan = plans_of(PRODUCT)[0]
    wild = _at(plan, np.full(6, 1e308))
    with np.errstate(all="ignore"):
        rows = wild.contributions(np.ones((2, 2)), np.ones(2), np.array([0.0, 1.0]))
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-12


def test_what_a_row_adds_it_adds_alone_bit_for_bit() -> None:
    log = drawn(37, 3)
    for plan in (None, again(2, 1.5), *plans_of(PRODUCT)):
        adding = Adding(1, plan)
        (block,) = log.blocks(0)
        alone = [adding(LogRows(*(part[i : i + 1] for part in block[:3]), None, None, i)) for i in range(37)]
        assert np.array_equal(np.sum(alone, axis=0), adding(block))


def test_sums_do_not_depend_on_the_pieces_a_log_comes_in() -> None:
    whole, plan = drawn(5000, 5), plans_of(PRODUCT)[-1]
    cut = drawn(5000, 5, ends=(1, 300, 301, 2777))
    (of_description, of_score) = entries(2)
    for adding, size in (
        (Adding(1), of_description),
        (Adding(1, again(2, 1.5)), of_description),
        (Adding(1, plan), of_score),
    ):
        assert run_pass(whole, adding, size) == run_pass(cut, adding, size)


def test_a_customer_adds_the_mean_of_their_rows_and_no_more() -> None:
    plan = plans_of(PRODUCT)[0]
    x, z, y = np.ones((4, 2)), np.ones(4), np.ones(4)
    one = Adding(1, plan)(LogRows(x[:1], z[:1], y[:1], None, None, 0))
    four = Adding(4, plan)(LogRows(x, z, y, np.zeros(4, dtype=np.int64), None, 0))
    assert np.abs(four - one).max() <= 4  # each row is cut on its own
    with pytest.raises(InvalidInput, match="may have 3 rows"):
        Adding(3, plan)(LogRows(x, z, y, np.zeros(4, dtype=np.int64), None, 0))
    with pytest.raises(InvalidInput, match="has no customers"):
        Adding(3, plan)(LogRows(x, z, y, None, None, 0))


def test_rows_out_of_bounds_are_held_to_them_and_what_is_no_number_adds_nothing() -> None:
    for plan in (None, plans_of(PRODUCT)[0]):
        far = LogRows(np.full((1, 2), 50.0), np.array([-9.0]), np.array([7.0]), None, None, 0)
        near = LogRows(np.ones((1, 2)), -np.ones(1), np.ones(1), None, None, 0)
        assert np.array_equal(Adding(1, plan)(far), Adding(1, plan)(near))
        for wrong in range(3):
            parts = [np.ones((1, 2)), np.ones(1), np.ones(1)]
            parts[wrong] = np.full_like(parts[wrong], math.nan)
            assert not Adding(1, plan)(LogRows(*parts, None, None, 0)).any()


def test_a_block_that_could_pass_64_bits_is_refused() -> None:
    count = (1 << 20) + 1
    with pytest.raises(InvalidInput, match="at most 1048576 rows"):
        Adding(1)(LogRows(np.zeros((count, 0)), np.zeros(count), np.zeros(count), None, None, 0))


def test_weights_are_those_of_maximum_likelihood_where_noise_is_small() -> None:
    likeness = likeness_of(Moments(1e9, np.zeros(3), np.eye(3) * 0.3))
    plan = plan_score(
        model=model_of(PRODUCT),
        moments=Moments(1e9, np.zeros(3), np.eye(3) * 0.3),
        likeness=likeness,
        theta=THETA,
        covariance=np.eye(6),
        noise=1e-3,
    )
    chances = expit(likeness.log_odds(model_of(PRODUCT), THETA))
    assert plan.heaviest == 1.0
    assert np.mean(plan.residual_weights(chances) == 1.0) > 0.95


def test_length_is_poured_where_the_least_variance_is_left() -> None:
    doubt, alpha, beta = np.array([1.0, 0.3, 0.01, 1e-6]), 0.02, 0.001
    matters = np.array([1.0, 2.0, 1.0, 1.0])

    def left(shares: FloatArray) -> float:
        kept = np.maximum(shares, 1e-12)
        noise = alpha / kept + beta
        return float(np.sum(matters * doubt * noise / (doubt + noise)))

    shares = poured(doubt, alpha, beta, matters)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[3] == 0.0
    random = np.random.default_rng(0)
    assert all(left(shares) <= left(random.dirichlet(np.ones(4))) + 1e-9 for _ in range(500))


def test_descriptions_without_noise_are_read_back() -> None:
    log = drawn(20_000, 2)
    v = np.column_stack([log.contexts, log.prices])

    def released(plan: description.DescriptionPlan | None) -> FloatArray:
        return np.array([math.ldexp(value, -40) for value in run_pass(log, Adding(1, plan), entries(2)[0])])

    first = description.read_first(released(None), 2, 1e-9)
    held = v * np.minimum(1.0, description.RADIUS * math.sqrt(3) / np.linalg.norm(v, axis=1))[:, None]
    assert first.units == pytest.approx(20_000, rel=1e-6)
    np.testing.assert_allclose(first.mean, held.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(first.covariance, np.cov(held.T, bias=True), atol=1e-4)
    doubted = first._replace(error=0.05)  # of another log, say
    plan = description.plan_description(doubted, 1e-9)
    second = description.read_again(released(plan), doubted, plan, 1e-9)
    np.testing.assert_allclose(second.mean, v.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(second.covariance, np.cov(v.T, bias=True), atol=1e-3)


def test_a_second_description_sees_what_a_first_one_cannot() -> None:
    """Two attributes that hardly vary and price that moves with one: the covariance, over 20 draws of the noise."""
    random = np.random.default_rng(0)
    x = random.normal(0.0, 0.2, (3000, 2))
    z = np.clip(x[:, 0] + random.normal(0.0, 0.1, 3000), -1.0, 1.0)
    log, v = ArrayLog(x, z, np.zeros(3000)), np.column_stack([x, z])
    narrow = np.array([1.0, 0.0, -1.0])
    wrong = []
    for seed in range(20):
        noise = Tape(seed, 0)
        state = FitState(PRODUCT, noise_of(1.0), 3000)
        for number in range(2):
            plan = state.next_plan()
            total = run_pass(log, Adding(1, plan), state.next_size())
            state.take(published(total, state.next_noise(), noise, number), plan)
            assert state.moments is not None
            said = narrow @ state.moments.covariance @ narrow
            wrong.append(math.log(said / (narrow @ np.cov(v.T) @ narrow)))
    first, second = np.abs(np.array(wrong)).reshape(20, 2).mean(axis=0)
    assert second < 0.5 * first


def test_descriptions_that_are_noise_alone_still_give_a_population() -> None:
    for seed in range(20):
        noise, tape = 1e7, Tape(seed, 0)
        first = description.read_first(noise * tape.normals(0, 0, entries(2)[0]), 2, noise)
        plan = description.plan_description(first, noise)
        found = description.read_again(noise * tape.normals(0, 1, entries(2)[0]), first, plan, noise)
        assert found.units >= 10.0
        assert np.linalg.eigvalsh(found.covariance).min() > 0.0


def test_a_state_says_how_far_it_is() -> None:
    state = FitState(PRODUCT, noise_of(1.0))
    assert (state.done, state.passes) == (0, 6)
    assert state_of(drawn(500), 1.0).done == 6


def test_steps_that_run_out_leave_a_belief(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = state_of(drawn(500), 1.0).belief.theta
    monkeypatch.setattr(fit_estimate, "_STEPS", 2)
    found = state_of(drawn(500), 1.0).belief
    assert np.isfinite(found.theta).all()
    np.testing.assert_allclose(found.theta, expected, atol=0.5)
