"""Oracle: Algorithms 1 to 3 a second time, slowly, line by line from the paper, in plain NumPy and SciPy.

It shares the tape's draws with the engine and nothing else: its own noise scales, tree, fit and price search. What the
paper does not have is taken from the policy: the output noise's scale, and the scales and filter of `tight`, which is
applied as a matrix here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import linalg, optimize, signal, special

from hushprice import Pricer, open_pricer
from hushprice.noise import Tape
from hushprice.numerics import tape
from hushprice.numerics.jit import COMPILED
from hushprice.privacy.streams import toeplitz

ZETA = 4.0
SOURCE = Tape(seed=2024, trial=3)
SHORT = 300 if COMPILED else 60
Bound = Callable[[np.ndarray], np.ndarray]


class Case(NamedTuple):
    """One run. `explore`, `most`, `ridge` and `width` are T0, D_inf, rho and gamma; epsilon is eps1 + eps2."""

    calibration: str
    dimension: int = 2
    horizon: int = 1000
    periods: int = SHORT
    epsilon: float = 1.0
    explore: int = 10
    most: int = 20
    ridge: float = 10.0
    width: float = 1.0
    delay: int = 0


CASES = [
    Case("nonprivate"),
    Case("nonprivate", dimension=3, explore=0, ridge=1.0),
    Case("nonprivate", explore=0, ridge=0.1, most=3),  # D_inf is reached
    Case("nonprivate", horizon=SHORT // 2, ridge=1.0),  # the horizon is reached
    Case("nonprivate", delay=7, ridge=1.0),
    Case("nonprivate", explore=2000, horizon=SHORT // 2),  # T0 >= T
    Case("published", epsilon=2.0),  # noise far above the signal: Lambda is mostly indefinite
    Case("published", dimension=3, epsilon=2.0, explore=0, width=5.0),
    Case("published", epsilon=1000.0, ridge=1.0, explore=0, most=4),
    Case("published", dimension=3, epsilon=3000.0 if COMPILED else 300.0, ridge=1.0, delay=3, horizon=SHORT - 20),
    Case("tight", epsilon=2.0),
    Case("tight", dimension=3, epsilon=2.0, explore=0, width=5.0),
    Case("tight", epsilon=200.0, ridge=1.0, explore=0, most=4),
    Case("tight", dimension=3, epsilon=1000.0, ridge=1.0, delay=3, horizon=SHORT - 20),
    Case("printed", epsilon=2.0),
    Case("printed", dimension=3, epsilon=20.0, explore=0, width=5.0, most=6),
    Case("printed", epsilon=50_000.0, ridge=1.0, explore=0),
]


class Customers(NamedTuple):
    """Contexts, and a uniform behind every purchase decision (sec:numerical)."""

    contexts: np.ndarray
    luck: np.ndarray

    def buys(self, n: int, price: float) -> float:
        k = self.contexts.shape[1]
        theta = np.array([*[-math.sqrt(0.1)] * k, math.sqrt(1 - 0.1 * k)])
        return float(self.luck[n] < special.expit(ZETA * theta @ features(self.contexts[n], price)))


def customers(case: Case) -> Customers:
    random = np.random.default_rng(5)
    return Customers(random.uniform(-1, 1, (case.periods, case.dimension - 1)), random.random(case.periods))


def features(x: np.ndarray, price: float) -> np.ndarray:
    return np.append(x, -price) / math.sqrt(x.size + 1)


def noise_scales(case: Case) -> tuple[float, float, float]:
    """sigma of alg:private-cov line 2; nu and rho of alg:private-mle line 2 at the share of alg:framework line 3."""
    if case.calibration == "nonprivate":
        return 0.0, 0.0, case.ridge
    if case.calibration == "tight":
        noise = open_case(case).policy.noise
        assert noise is not None
        return noise.covariance_noise, noise.estimate_noise, noise.estimate_ridge
    printed = case.calibration == "printed"
    epsilon, delta, m = case.epsilon / 2, 1 / case.horizon**2, math.ceil(math.log2(case.horizon))
    small = delta / (2 * m)
    share = (
        epsilon / (2 * m * math.log(1 / small)) if printed else epsilon / (2 * math.sqrt(2 * m * math.log(1 / small)))
    )
    sigma = math.sqrt(2 * math.log(1.25 / small) / share**2)
    small = delta / (2 * case.most)
    share = epsilon / ((2 if printed else 1) * math.sqrt(2 * case.most * math.log(1 / small)))
    scale = ZETA if printed else 1.0  # G, with B_Y = 1
    nu = math.sqrt((2 * scale) ** 2 * (8 * math.log(2 / small) + 4 * share) / share**2)
    return sigma, nu, max(case.ridge, 2 * (1 + math.e**2) ** 2 / math.e**2 * scale / share)


def spread(case: Case) -> np.ndarray:
    """B of the Toeplitz factorization A = B C, as a matrix: what the draws of `tight` are multiplied with."""
    strategy, steps = toeplitz(case.horizon), case.horizon - 1
    pulse = np.eye(1, steps)[0]
    for pole, zero in zip(strategy.poles, strategy.zeros, strict=True):
        pulse = signal.lfilter([1.0, -zero], [1.0, -pole], pulse)
    return np.tril(np.ones((steps, steps))) @ linalg.inv(linalg.toeplitz(pulse, np.zeros(steps)))


def private_mle(phi: np.ndarray, y: np.ndarray, ridge: float, w: np.ndarray) -> np.ndarray:
    """alg:private-mle line 4, by a search for the ball's multiplier and Newton's method inside."""

    def minimizer(multiplier: float) -> np.ndarray:
        theta, rho = np.zeros(w.size), ridge + multiplier

        def value(at: np.ndarray) -> float:
            z = ZETA * phi @ at
            return float(np.sum(np.logaddexp(0.0, z) - y * z) + rho / 2 * at @ at + w @ at)

        for _ in range(100):
            f = special.expit(ZETA * phi @ theta)
            gradient = ZETA * phi.T @ (f - y) + rho * theta + w
            hessian = ZETA**2 * (phi.T * (f * (1 - f))) @ phi + rho * np.eye(w.size)
            direction, step = np.linalg.solve(hessian, gradient), 1.0
            while step > 1e-9 and value(theta - step * direction) > value(theta):
                step /= 2
            theta = theta - step * direction
        return theta

    if np.linalg.norm(minimizer(0.0)) <= 2.0:
        return minimizer(0.0)
    outside = lambda multiplier: np.linalg.norm(minimizer(multiplier)) - 2.0  # noqa: E731
    return minimizer(optimize.brentq(outside, 0.0, np.linalg.norm(w) + ZETA * len(y), xtol=1e-12, rtol=1e-14))


def upper_bound(x: np.ndarray, theta: np.ndarray, inverse: np.ndarray, width: float) -> Bound:
    """What alg:framework line 10 maximizes, before the cap; a negative form is no bonus."""
    u, v = features(x, 0.0), features(x, 1.0) - features(x, 0.0)

    def bound(p: np.ndarray) -> np.ndarray:
        phi = u[:, None] + p * v[:, None]
        form = np.maximum(np.einsum("ip,ij,jp->p", phi, inverse, phi), 0.0)
        return p * special.expit(ZETA * theta @ phi) + width * np.sqrt(form)

    return bound


def best_price(bound: Bound) -> float:
    """The maximizer on a fine grid, then between the two grid points around the best."""
    grid = np.linspace(0.0, 1.0, 4001)
    top = grid[np.argmax(bound(grid))]
    around = max(0.0, top - 1 / 4000), min(1.0, top + 1 / 4000)
    near = optimize.minimize_scalar(
        lambda p: -bound(np.array([p]))[0], bounds=around, method="bounded", options={"xatol": 1e-12}
    )
    return near.x if bound(np.array([near.x]))[0] > bound(np.array([top]))[0] else top


def slow_run(case: Case) -> tuple[list[int], list[float], list[Bound]]:
    """alg:framework: the periods of fresh estimates, all prices, and what each of them maximizes."""
    people, d = customers(case), case.dimension
    sigma, nu, fit_ridge = noise_scales(case)
    policy_noise = open_case(case).policy.noise
    assert policy_noise is not None
    upper, rows = np.triu_indices(d), []
    scales = np.where(upper[0] == upper[1], 1.0, math.sqrt(0.5 if case.calibration == "tight" else 1.0))
    factor = spread(case) if case.calibration == "tight" else None
    current, theta, inverse = case.ridge**d, np.zeros(d), np.eye(d) / case.ridge
    exact: dict[int, np.ndarray] = {}
    noisy: dict[int, np.ndarray] = {}
    phi, y, prices, periods, bounds = [], [], [], [], []
    for n in range(1, case.periods + 1):
        slot = n - 1 - case.delay
        if slot >= 1 and n <= case.horizon:
            level = min(bit for bit in range(64) if slot >> bit & 1)
            exact[level] = np.outer(phi[slot - 1], phi[slot - 1]) + sum(exact.pop(below) for below in range(level))
            for below in range(level):
                noisy.pop(below)
            drawn = np.zeros((d, d))
            drawn[upper] = sigma * SOURCE.normals(tape.COVARIANCE_NOISE, slot, upper[0].size)
            noisy[level] = exact[level] + drawn + np.triu(drawn, 1).T
            total = sum(noisy.values())
            if factor is not None:
                rows.append(sigma * scales * SOURCE.normals(tape.COVARIANCE_NOISE, slot, upper[0].size))
                drawn = np.zeros((d, d))
                drawn[upper] = factor[slot - 1, :slot] @ np.array(rows)
                total = sum(exact.values()) + drawn + np.triu(drawn, 1).T
            regularized = total + case.ridge * np.eye(d)
            if n > case.explore and len(periods) < case.most and np.linalg.det(regularized) > 2 * current:
                w = nu * SOURCE.normals(tape.ESTIMATE_NOISE, n, d)
                theta = private_mle(np.array(phi[:slot]), np.array(y[:slot]), fit_ridge, w)
                theta = theta + policy_noise.output_noise * SOURCE.normals(tape.OUTPUT_NOISE, n, d)
                current = np.linalg.det(regularized)
                if case.calibration in ("printed", "tight") and np.linalg.eigvalsh(regularized).min() <= 0.0:
                    values, vectors = np.linalg.eigh(regularized)
                    regularized = vectors * np.maximum(values, case.ridge) @ vectors.T
                inverse = np.linalg.inv(regularized)
                periods.append(n)
        x = people.contexts[n - 1]
        bounds.append(upper_bound(x, theta, inverse, case.width))
        explores = n <= min(case.explore, case.horizon)
        prices.append(SOURCE.uniform(tape.EXPLORATION, n) if explores else best_price(bounds[-1]))
        phi.append(features(x, prices[-1]))
        y.append(people.buys(n - 1, prices[-1]))
    return periods, prices, bounds


def open_case(case: Case) -> Pricer:
    private = case.calibration != "nonprivate"
    return open_pricer(
        horizon=case.horizon,
        contexts=case.dimension - 1,
        epsilon=case.epsilon,
        policy="paper" if private else "nonprivate",
        calibration=case.calibration if private else "tight",
        exploration_periods=case.explore,
        max_estimates=case.most,
        ridge=case.ridge,
        width=case.width,
        delay=case.delay,
        source=SOURCE,
        simulation=True,
    )


def run(pricer: Pricer, case: Case) -> tuple[list[int], list[float]]:
    people, prices, versions = customers(case), [], [0]
    for n, x in enumerate(people.contexts):
        quote = pricer.quote(x)
        pricer.observe(quote.id, people.buys(n, quote.price))
        prices.append(quote.price)
        versions.append(quote.version)
    return (np.flatnonzero(np.diff(versions)) + 1).tolist(), prices


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_the_engine_repeats_the_algorithms_of_the_paper(case: Case) -> None:
    """A price is promised to 1e-9 in what it maximizes. Peaks are flat, so that is sqrt(1e-9) in the price itself."""
    periods, prices, bounds = slow_run(case)
    given_periods, given_prices = run(open_case(case), case)
    assert given_periods == periods
    np.testing.assert_allclose(given_prices, prices, rtol=0, atol=1e-4)
    values = [bound(np.array(pair)) for bound, *pair in zip(bounds, prices, given_prices, strict=True)]
    assert all(given >= best - 1e-9 * max(1.0, best) for best, given in values[case.explore :])


def test_the_oracle_sees_a_slot_learned_one_quote_early() -> None:
    case = Case("nonprivate", delay=2, ridge=1.0)
    pricer = open_case(case)
    pricer.slots.delay = 1
    assert run(pricer, case)[0] != slow_run(case)[0]
