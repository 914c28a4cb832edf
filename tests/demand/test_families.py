"""The built-in families against scipy's distributions; the arrays against the scalar functions kernels call."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import special, stats

from hushprice.demand import family
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.numerics.jit import COMPILED

Z = np.linspace(-1.0, 1.0, 41)
SIZE = 50_000 if COMPILED else 2_000
FAMILIES: list[Demand] = [
    Logistic(slope=0.3),
    Logistic(),
    Logistic(slope=30.0),
    Gaussian(noise=0.2),
    Gaussian(),
    Gaussian(noise=3.0, bound=2.0),
    Poisson(slope=0.5),
    Poisson(bound=2.5),
    Poisson(slope=3.0, bound=40.0),
]
everywhere = pytest.mark.parametrize("demand", FAMILIES, ids=str)


def law(demand: Demand, z: Any) -> Any:
    """The same distribution as scipy has it, before clipping."""
    if demand.family == family.LOGISTIC:
        return stats.bernoulli(special.expit(demand.slope * z))
    if demand.family == family.POISSON:
        return stats.poisson(np.exp(demand.slope * z))
    return stats.norm(z, demand.slope**-0.5)


def uniforms(seed: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.random.default_rng(seed).uniform(size=(2, SIZE))
    return first, second


@everywhere
def test_mean_is_scipys(demand: Demand) -> None:
    np.testing.assert_allclose(demand.mean(Z), law(demand, Z).mean(), rtol=1e-13)


@everywhere
def test_mean_slope_is_slope_times_scipys_variance(demand: Demand) -> None:
    variance = law(demand, Z).var()  # f' = zeta Var(y) in an exponential family
    if demand.family == family.LOGISTIC:  # again without 1 - p
        variance = special.expit(demand.slope * Z) * special.expit(-demand.slope * Z)
    np.testing.assert_allclose(demand.mean_slope(Z), demand.slope * variance, rtol=1e-12)


@everywhere
def test_log_likelihood_is_scipys(demand: Demand) -> None:
    y, z = np.meshgrid(np.arange(-1.0, 12.0), Z)
    if demand.family == family.LOGISTIC:  # scipy's Bernoulli rounds 1 - p; its log_expit does not
        utility = np.where(y == 1, 1, -1) * demand.slope * z
        expected = np.where((y == 0) | (y == 1), special.log_expit(utility), -np.inf)
    else:
        expected = law(demand, z).logpmf(y) if demand.family == family.POISSON else law(demand, z).logpdf(y)
    np.testing.assert_allclose(demand.log_likelihood(y, z), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("demand", [Logistic(), Poisson()], ids=str)
def test_demand_that_cannot_happen_has_no_likelihood(demand: Demand) -> None:
    assert (demand.log_base(np.array([-1.0, 0.5, -0.5, np.inf])) == -np.inf).all()


@pytest.mark.parametrize("z", [-1.0, -0.2, 0.0, 0.7])
@pytest.mark.parametrize("slope", [0.5, 4.0, 30.0])
def test_a_logistic_customer_buys_when_utility_with_logistic_noise_is_positive(slope: float, z: float) -> None:
    first, second = uniforms(1)
    expected = slope * z + special.logit(first) > 0.0
    np.testing.assert_array_equal(Logistic(slope=slope).sample(np.full(SIZE, z), first, second), expected)


# e^8 = 2981 units: e^-rate is below every float there, and the walk must start near the mean
@pytest.mark.parametrize(("slope", "z"), [(1.0, -1.0), (1.0, 1.0), (6.5, 1.0), (6.6, 1.0), (8.0, 1.0)])
def test_a_poisson_draw_inverts_scipys_distribution_function(slope: float, z: float) -> None:
    first, second = (draw[: SIZE if COMPILED else 200] for draw in uniforms(2))
    drawn = Poisson(slope=slope, bound=1e5).sample(np.full(first.size, z), first, second)
    np.testing.assert_array_equal(drawn, law(Poisson(slope=slope), z).ppf(first))


def test_a_poisson_walk_ends_where_rounding_keeps_its_total_below_the_uniform() -> None:
    last = np.array([1.0 - 2.0**-53])
    drawn = Poisson(slope=6.0, bound=1e300).sample(np.ones(1), last, last)[0]
    assert 1e-25 < stats.poisson(math.exp(6.0)).sf(drawn) < 1e-14


@pytest.mark.parametrize("noise", [0.2, 1.0, 5.0])
def test_gaussian_draws_have_the_mean_and_noise_they_claim(noise: float) -> None:
    # False alarm 1e-3 each, at a fixed seed.
    drawn = Gaussian(noise=noise, bound=1e6).sample(np.full(SIZE, 0.4), *uniforms(3))
    assert stats.kstest(drawn, stats.norm(0.4, noise).cdf).pvalue > 1e-3
    assert stats.kstest(drawn, stats.norm(0.4, 1.5 * noise).cdf).pvalue < 1e-9
    assert stats.kstest(drawn, stats.norm(0.4 + 0.3 * noise, noise).cdf).pvalue < 1e-9


@everywhere
def test_samples_are_clipped_and_not_cut_off(demand: Demand) -> None:
    z, (first, second) = np.linspace(-1.0, 1.0, SIZE), uniforms(4)
    wide = {"bound": 1e6} | ({"noise": demand.noise} if isinstance(demand, Gaussian) else {"slope": demand.slope})
    free = type(demand)(**wide).sample(z, first, second)
    np.testing.assert_array_equal(demand.sample(z, first, second), np.clip(free, -demand.bound, demand.bound))


@everywhere
def test_arrays_hold_what_the_scalar_functions_give_in_any_shape_and_layout(demand: Demand) -> None:
    z = np.linspace(-2.0, 2.0, 24).reshape(2, 3, 4).transpose(2, 0, 1)[:, ::-1]
    code, slope = demand.family, float(demand.slope)
    scalars: list[tuple[Callable[[np.ndarray], np.ndarray], Callable[[float], float]]] = [
        (demand.mean, lambda t: family.mean(code, slope, t)),
        (demand.mean_slope, lambda t: family.derivatives(code, slope, t)[1]),
        (demand.log_partition, lambda t: family.log_partition(code, slope, t)),
        (demand.log_base, lambda t: family.log_base(code, slope, t)),
        (
            lambda t: demand.sample(t, np.asarray(0.3), np.asarray(0.6)),
            lambda t: family.draw(code, slope, float(demand.bound), t, 0.3, 0.6),
        ),
    ]
    for over_array, scalar in scalars:
        np.testing.assert_array_equal(over_array(z), np.vectorize(scalar)(z))
        np.testing.assert_array_equal(over_array(np.array([[0, 1]])), [[scalar(0.0), scalar(1.0)]])
        assert over_array(np.asarray(0.5)).shape == ()
        assert over_array(np.empty((0, 2))).shape == (0, 2)


def test_uniforms_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        Logistic().sample(np.zeros(3), np.full(2, 0.5), np.full(3, 0.5))


@everywhere
def test_the_second_derivative_is_right_and_its_ratio_monotone(demand: Demand) -> None:
    at, step = np.linspace(-2.0, 2.0, 201), 1e-5
    f, steep, ratio = np.array([family.derivatives(demand.family, demand.slope, z) for z in at]).T
    np.testing.assert_array_equal(f, demand.mean(at))
    bend = (demand.mean_slope(at + step) - demand.mean_slope(at - step)) / (2 * step)
    np.testing.assert_allclose(ratio * steep, bend, rtol=1e-6, atol=1e-6 * steep.max())
    assert (np.diff(ratio) <= 1e-12).all() or (np.diff(ratio) >= -1e-12).all()


@everywhere
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-2.0, -0.5), (0.3, 0.4), (0.0, 1.0), (-1.0, 0.0)])
def test_steepest_is_the_largest_slope_of_a_dense_grid(demand: Demand, low: float, high: float) -> None:
    grid = demand.mean_slope(np.linspace(low, high, 1001))
    actual = family.steepest(demand.family, demand.slope, low, high, grid[0], grid[-1])
    assert actual == pytest.approx(grid.max(), rel=1e-3)
    assert actual >= grid.max() * (1 - 1e-15)


def test_constants_are_those_the_paper_prints() -> None:
    assert Logistic(slope=1.0).curvature == pytest.approx((1 + math.e**2) ** 2 / math.e**2, rel=1e-14)
    assert Logistic().paper_curvature == pytest.approx(Logistic(slope=1.0).curvature, rel=1e-14)
    assert (Logistic().bound, Logistic().scale, Logistic(slope=0.25).scale) == (1.0, 4.0, 4.0)
    assert (Gaussian().slope, Gaussian().subgaussian, Gaussian().curvature, Gaussian().scale) == (1.0, 1.0, 1.0, 1.0)
    assert (Gaussian(noise=0.5).slope, Gaussian(noise=0.5).bound) == (4.0, 3.0)
    assert Gaussian(noise=0.5, bound=None) == Gaussian(noise=0.5, bound=3.0) == replace(Gaussian(noise=0.5))
    assert Poisson(slope=2.0).paper_curvature == Poisson(slope=2.0).curvature == 2.0 * math.exp(4.0)


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: Logistic(slope=math.nan), "slope"),
        (lambda: Logistic(slope=301.0), "slope"),
        (lambda: Logistic(slope=0.0), "slope"),
        (lambda: Logistic(bound=0.5), "bound"),
        (lambda: Logistic(bound=math.inf), "bound"),
        (lambda: Gaussian(noise=1e-200), "noise"),
        (lambda: Gaussian(noise=1e200), "noise"),
        (lambda: Gaussian(bound=math.nan), "bound"),
        (lambda: Gaussian(noise="four"), "noise"),  # type: ignore[arg-type]
        (lambda: Gaussian(bound=-1.0), "bound"),
        (lambda: Gaussian(bound=math.inf), "bound"),
        (lambda: Gaussian(bound=-math.inf), "bound"),
        (lambda: replace(Gaussian(), bound=-math.inf), "bound"),
        (lambda: Gaussian(bound="four"), "bound"),  # type: ignore[arg-type]
        (lambda: Poisson(slope=10.5), "slope"),
        (lambda: Poisson(slope=-1.0), "slope"),
        (lambda: Poisson(bound=math.nan), "bound"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(build: Callable[[], Demand], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        build()


@pytest.mark.parametrize(("field", "value"), [("noise", 0.0), ("bound", -math.inf)])
def test_a_saved_gaussian_is_checked_as_one_that_is_made(field: str, value: float) -> None:
    saved = asdict(Gaussian(noise=0.5))
    assert msgspec.convert(saved, Gaussian) == Gaussian(noise=0.5)
    with pytest.raises(msgspec.ValidationError, match=f"^{field} must"):
        msgspec.convert(saved | {field: value}, Gaussian)


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
@everywhere
def test_compiled_functions_repeat_the_plain_source_bit_for_bit(demand: Demand) -> None:
    slope = float(demand.slope)
    for z, first, second in np.random.default_rng(9).uniform(size=(200, 3)):
        for function, arguments in (
            (family.mean, (z,)),
            (family.derivatives, (z,)),
            (family.log_partition, (z,)),
            (family.draw, (demand.bound, z, first, second)),
        ):
            assert function(demand.family, slope, *arguments) == function.py_func(demand.family, slope, *arguments)
