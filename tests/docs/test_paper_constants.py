"""The arithmetic behind docs/lab/paper_constants.md, from the paper's formulas alone: nothing of the package is used.

A number shown on the page is computed here and then looked for in the page's text.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, log_ndtr
from scipy.stats import norm

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "lab" / "paper_constants.md").read_text()
ROOT_2 = math.sqrt(2)
SLOPE = 4.0  # zeta of sec:numerical
PRINTED_K = (1 + math.e**2) ** 2 / math.e**2  # of the logistic example


def shown(text: str) -> bool:
    return text in " ".join(PAGE.split())


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon of a Gaussian release whose worst shift is mu deviations, in logarithms."""

    def excess(epsilon: float) -> float:
        gain = log_ndtr(mu / 2 - epsilon / mu)
        return gain + math.log(-math.expm1(epsilon + log_ndtr(-mu / 2 - epsilon / mu) - gain)) - math.log(delta)

    return brentq(excess, 0.0, mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)), xtol=1e-14)


def node_noise(epsilon: float, delta: float, horizon: int, *, root: bool) -> float:
    """sigma of alg:private-cov line 2, as printed or with the square root of fact:composition."""
    m = math.ceil(math.log2(horizon))
    node_delta = delta / (2 * m)
    spread = 2 * m * math.log(1 / node_delta)
    node_epsilon = epsilon / (2 * math.sqrt(spread) if root else spread)
    return math.sqrt(2 * math.log(1.25 / node_delta)) / node_epsilon


def call_share(epsilon: float, delta: float, calls: int, factor: float) -> tuple[float, float]:
    """Share of one PrivateMLE call: factor 2 is alg:framework line 3, factor 1 cor:privacy-mle."""
    share = delta / (2 * calls)
    return epsilon / (factor * math.sqrt(2 * calls * math.log(1 / share))), share


def tilt(epsilon: float, delta: float, gradient: float) -> float:
    """nu of alg:private-mle line 2."""
    return gradient * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon


def advanced(epsilon: float, calls: int, slack: float) -> float:
    """fact:composition, second rule."""
    return math.sqrt(2 * calls * math.log(1 / slack)) * epsilon + calls * epsilon * math.expm1(epsilon)


def in_the_ball(generator: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    points = generator.normal(size=(count, dimension))
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))


def joint_epsilon(mu: float, shift: float, jacobian: float, calls: int, delta: float) -> float:
    """Upper bound for one Gaussian release and `calls` estimates whose loss is at most J + a^2/2 + a Rayleigh.

    Losses are rounded up to a grid and convolved; the grid is 40 deviations wide on either side.
    """
    cells = 2**18
    step = (
        80 * math.sqrt(mu * mu + calls * shift * shift) + 2 * calls * (jacobian + shift * shift + 2 * shift)
    ) / cells
    x = (np.arange(cells) - cells // 2) * step
    normal = norm.cdf(x, mu * mu / 2, mu)
    rayleigh = -np.expm1(-(np.maximum(x - jacobian - shift * shift / 2, 0.0) ** 2) / (2 * shift * shift))
    one, other = (np.fft.rfft(np.fft.ifftshift(np.diff(cdf, prepend=0.0))) for cdf in (normal, rayleigh))
    mass = np.maximum(np.fft.fftshift(np.fft.irfft(one * other**calls)), 0.0)

    def excess(epsilon: float) -> float:
        above = x > epsilon
        return float(np.sum(mass[above] * -np.expm1(epsilon - x[above]))) - delta

    return brentq(excess, 0.0, x[-1] / 2)


# P1: sensitivity of the covariance


def test_replacing_a_record_moves_the_covariance_by_root_two():
    generator = np.random.default_rng(3)
    old, new = in_the_ball(generator, 200_000, 2), in_the_ball(generator, 200_000, 2)
    change = old[:, :, None] * old[:, None, :] - new[:, :, None] * new[:, None, :]
    frobenius = np.sqrt(np.sum(change**2, axis=(1, 2)))
    triangle = np.sqrt(np.sum(change[:, *np.triu_indices(2)] ** 2, axis=1))
    assert frobenius.max() <= ROOT_2 + 1e-12
    assert frobenius.max() > 1.41
    assert triangle.max() > 1.41  # the noise is on the upper triangle, and that moves as far
    assert np.linalg.norm(np.diag([1.0, -1.0])) == pytest.approx(ROOT_2)  # e1 for e2


def test_tight_noise_for_sensitivity_one_protects_too_little():
    sigma = brentq(lambda s: gaussian_epsilon(math.sqrt(17) / s, 1e-10) - 1.0, 1.0, 1e4)
    actual = gaussian_epsilon(ROOT_2 * math.sqrt(17) / sigma, 1e-10)
    assert actual > 1.4
    assert shown(f"would give {actual:.2f} where 1 was promised")


# P2: composition over the tree


@pytest.mark.parametrize(("horizon", "sigma", "ratio"), [(10**5, 6606, 15.0), (10**6, 9951, 17.7)])
def test_the_tree_lacks_a_square_root(horizon, sigma, ratio):
    delta = float(horizon) ** -2
    printed, rooted = (node_noise(1.0, delta, horizon, root=root) for root in (False, True))
    assert round(printed) == sigma
    assert printed / rooted == pytest.approx(ratio, abs=0.05)
    m = math.ceil(math.log2(horizon))
    proven = gaussian_epsilon(ROOT_2 * math.sqrt(m) / printed, delta)
    needed = brentq(lambda s: gaussian_epsilon(ROOT_2 * math.sqrt(m) / s, delta) - 1.0, 1.0, 1e4)
    for text in (f"{sigma:,}", f"{rooted:.0f}", f"{ratio:g} times", f"{proven:.4f}", f"{needed:.1f}"):
        assert shown(text), text


def test_the_classical_gaussian_constant_needs_a_small_epsilon_and_has_one():
    """2 ln(1.25/delta)/epsilon^2 is right for epsilon < 1 only; at 20 it is not."""
    for epsilon, fine in ((0.5, True), (20.0, False)):
        mu = epsilon / math.sqrt(2 * math.log(1.25 / 1e-3))
        assert (gaussian_epsilon(mu, 1e-3) <= epsilon) == fine


# P3: sensitivity of the gradient


def gradient_changes(demands: tuple[float, float], steepness: float) -> np.ndarray:
    """Norms of (y - f(z)) phi - (y' - f(z')) phi' at one theta of norm 2, f from 0 to 1."""
    generator = np.random.default_rng(5)
    phi = in_the_ball(generator, 400_000, 2)
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    residual = generator.choice(demands, size=400_000) - expit(steepness * 2 * phi[:, 0])
    gradient = residual[:, None] * phi
    return np.linalg.norm(gradient[::2] - gradient[1::2], axis=1)


def test_the_gradient_bound_covers_zero_one_demand_and_no_more():
    assert gradient_changes((0.0, 1.0), 50.0).max() <= 2.0  # (B_Y + 1) G = 2 G
    bound = 3.0
    largest = gradient_changes((-bound, bound), 50.0).max()
    assert largest > 1.9 * (bound + 1)
    assert largest <= 2 * (bound + 1)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-10])
def test_the_tilt_is_sized_for_one_gradient_bound(epsilon, delta):
    """Half of epsilon pays for the shift up to the tail of delta/2, if the shift is B1 and not 2 B1."""
    reach = math.sqrt(2 * math.log(2 / delta))
    for shift, fine in ((1.0, True), (2.0, False)):
        a = shift / tilt(epsilon, delta, 1.0)
        assert (a * reach + a * a / 2 <= epsilon / 2) == fine
    assert math.exp(-(reach**2) / 2) <= delta / 2 * (1 + 1e-12)  # a Rayleigh variable passes `reach` no more often


# P4: the Gaussian example


def test_the_gaussian_example_breaks_its_own_conditions():
    z = np.linspace(-2.0, 2.0, 401)  # |phi| <= 1, |theta| <= 2
    assert z.min() < 0.0
    assert z.max() > 1.0  # f(z) = z leaves [0, 1]
    bound = 1.5
    assert np.abs(np.array([[-bound], [bound]]) - z).max() == bound + 2
    horizon = 10**5
    beyond = -math.expm1(horizon * math.log1p(-2 * norm.sf(math.sqrt(2 * math.log(horizon)))))
    assert 0.1 < beyond < 0.2
    assert shown(f"{beyond:.0%}".replace("%", " %"))


# P5: curvature


def test_privacy_needs_the_upper_bound_of_the_curvature_only():
    z = np.linspace(-2.0, 2.0, 4001)
    for slope, two_sided, needed in ((1.0, 9.52, 0.25), (SLOPE, 746, 4.0)):
        slope_of_f = np.gradient(expit(slope * z), z, edge_order=2)
        k = max(slope_of_f.max(), 1 / slope_of_f.min())
        assert k == pytest.approx(two_sided, rel=1e-3)
        assert (slope * slope_of_f).max() == pytest.approx(needed, rel=1e-4)  # curvature of -ln p
        assert shown(f"{two_sided:g}")
    assert round(PRINTED_K, 2) == 9.52


# P6: the missing factor 2


def test_the_corollary_without_the_factor_holds_up_to_an_epsilon_of_three_and_a_half():
    def total(epsilon: float, factor: float = 1.0) -> float:
        return advanced(call_share(epsilon, 1e-10, 34, factor)[0], 34, 1e-10 / 2)

    assert total(1.0) == pytest.approx(0.95, abs=0.005)
    assert total(5.0) == pytest.approx(5.15, abs=0.005)
    assert total(5.0, factor=2.0) < 5.0
    most = brentq(lambda epsilon: total(epsilon) - epsilon, 1.0, 5.0)
    for text in ("0.95", "5.15", f"{most:.1f}"):
        assert shown(text), text


def test_the_corollary_cited_names_one_delta_where_it_means_the_other():
    calls, target = 34, 1e-10
    literal = math.log(2 * calls / (target / (2 * calls)))
    meant = math.log(2 * calls / target)
    assert literal > meant  # read word for word it is only more cautious
    assert math.sqrt(literal / meant) == pytest.approx(1.075, abs=5e-3)
    assert shown("7 %")


# P7: which privacy


def test_hiding_the_own_price_would_leave_half_an_advantage():
    """At the limits of prop:anticipating-linear-regret a price fits its customer, of two kinds, 3 times in 4."""
    scale = 2.0  # e^epsilon at epsilon = ln 2
    advantage = (scale - 1 + 2 * 0.25) / (scale + 1)
    best = (0.25 + 0.75 * scale / (1 + scale)) - 0.75 / (1 + scale)  # attained: shown for sure with chance delta
    assert advantage == pytest.approx(best)
    assert (1 + advantage) / 2 == pytest.approx(0.75)


# P8: the exact minimizer


def test_how_far_a_certified_gap_lets_the_estimate_be_off():
    """A gap g in the objective leaves at most sqrt(2 g/rho): attained by the flattest objective allowed."""
    ridge, gap = 820.0, 1e-10
    distance = math.sqrt(2 * gap / ridge)
    assert ridge / 2 * distance**2 == pytest.approx(gap)
    assert distance == pytest.approx(4.9e-7, rel=0.01)
    assert shown("5e-7")


# P10: the horizon


def test_a_tree_for_the_horizon_ends_there():
    m = math.ceil(math.log2(10**5))
    records = 2**m - 1
    assert records >= 10**5 - 1
    assert records.bit_length() == m
    assert (records + 1).bit_length() == m + 1
    assert shown(f"{records:,}")


# what all of it comes to


def sharper_shift(slope: float) -> float:
    """Largest gradient change of logistic demand on the ball, over pairs that lie symmetric about theta."""
    found = minimize_scalar(lambda h: -2 * slope * expit(2 * slope * math.cos(h)) * math.sin(h), (1.0, 1.4))
    return -found.fun


def test_no_pair_on_a_grid_moves_the_gradient_further_than_the_symmetric_ones():
    angle = np.linspace(0.0, 2 * np.pi, 721)
    unit = np.stack([np.cos(angle), np.sin(angle)])
    largest = 0.0
    for radius in (0.5, 1.0, 1.5, 2.0):
        gradients = np.concatenate(
            [SLOPE * (expit(SLOPE * radius * unit[0]) - y) * unit for y in (0.0, 1.0)], axis=1
        )  # theta lies along the first axis
        norms = np.sum(gradients**2, axis=0)
        largest = max(largest, np.max(norms[:, None] + norms - 2 * gradients.T @ gradients))
    assert 0.999 * sharper_shift(SLOPE) < math.sqrt(largest) <= sharper_shift(SLOPE)


@pytest.mark.parametrize("dimension", [2, 3])
def test_what_the_noise_proves_against_what_is_claimed(dimension):
    horizon, delta, calls = 10**5, 1e-10, math.ceil(dimension * math.log2(10**5))
    assert sharper_shift(SLOPE) == pytest.approx(7.07, abs=0.005)
    row = []
    for scale, factor, root in ((SLOPE, 2.0, False), (1.0, 1.0, True)):  # printed, published
        epsilon, share = call_share(1.0, delta, calls, factor)
        nu, ridge = tilt(epsilon, share, 2 * scale), max(10.0, 2 * PRINTED_K * scale / epsilon)
        mu = ROOT_2 * math.sqrt(17) / node_noise(1.0, delta, horizon, root=root)
        for shift in (2 * SLOPE, sharper_shift(SLOPE)):
            row.append(joint_epsilon(mu, shift / nu, math.log1p(SLOPE**2 / 4 / ridge), calls, 2 * delta) / 2)
    assert shown(f"| {dimension} | {row[0]:.3f} | {row[1]:.3f} | {row[2]:.2f} | {row[3]:.2f} |"), row


def test_the_joint_accountant_agrees_with_closed_forms():
    mu = 0.2
    alone = joint_epsilon(mu, 1e-9, 0.0, 1, 1e-8)
    assert alone == pytest.approx(gaussian_epsilon(mu, 1e-8), rel=2e-3)
    assert alone >= gaussian_epsilon(mu, 1e-8)
    shift, jacobian, delta = 0.1, 0.02, 1e-8  # one estimate: quadrature of the Rayleigh law

    def excess(epsilon: float) -> float:
        r = np.linspace(max(0.0, (epsilon - jacobian - shift**2 / 2) / shift), 14.0, 400_001)
        loss = jacobian + shift**2 / 2 + shift * r
        return float(np.trapezoid(-np.expm1(epsilon - loss) * r * np.exp(-(r**2) / 2), r)) - delta

    expected = brentq(excess, 0.1, 1.2)
    found = joint_epsilon(1e-6, shift, jacobian, 1, delta)
    assert expected <= found <= expected * 1.002


# smaller matters


def test_the_smaller_slips():
    z = 0.3
    assert sum(math.exp(y * z - math.log1p(math.exp(z)) + 1) for y in (0, 1)) == pytest.approx(math.e)  # h(y) = 1
    assert 1 - 0.1 * (11 - 1) >= 0 > 1 - 0.1 * (12 - 1)  # the last entry of theta* is a root of this
    horizon = 1e5
    assert (math.log(horizon / horizon**-2) / math.log(horizon)) ** 5 == pytest.approx(243)
    smallest = min(2 * PRINTED_K / call_share(e, 1e-10, 34, 1.0)[0] for e in (0.1, 0.2, 0.5, 1.0, 5.0))
    assert round(smallest) == 164
    for text in ("243", "164", "d = 11"):
        assert shown(text), text
