"""The paper's Algorithm 1 as a plain NumPy loop: one trial, one period at a time.

It imports nothing from `hushprice` and shares no random numbers with it, so it is both the peer that the compiled
simulator is timed against and an independent check of its regret. Labels are those of the paper's LaTeX source.

    python benchmarks/naive.py --horizon 100000 --dimension 2 --epsilon 1 --calibration published --trials 4
"""

import argparse
import math
import time
from dataclasses import dataclass

import numpy as np

ZETA = 4.0  # sec:numerical, as are the next three
EXPLORATION, RIDGE, WIDTH = 10, 10.0, 1.0  # T0, rho, gamma
RADIUS = 2.0  # alg:private-mle, line 4
CURVATURE = (1 + math.e**2) ** 2 / math.e**2  # K of the paper's logistic example
GRID = np.linspace(0.0, 1.0, 101)
CALIBRATIONS = ("printed", "published", "nonprivate")


@dataclass(frozen=True)
class Result:
    """One trial: regret per period, PrivateMLE calls made, seconds in the loop, and the price of every period."""

    average_regret: float
    estimates: int
    seconds: float
    prices: np.ndarray


@dataclass(frozen=True)
class Noise:
    """Standard deviations of PrivateCov's and PrivateMLE's noise, and the ridge of PrivateMLE."""

    covariance: float
    estimate: float
    ridge: float


def calibrate(calibration: str, horizon: int, calls: int, epsilon: float, delta: float) -> Noise:
    """Noise of one calibration: `printed` as in the algorithms' text, `published` as the paper's table implies."""
    if calibration not in CALIBRATIONS:
        raise ValueError(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {calibration!r}")
    if calibration == "nonprivate":
        return Noise(covariance=0.0, estimate=0.0, ridge=RIDGE)
    printed = calibration == "printed"
    bound = ZETA if printed else 1.0  # G, hence B1 = 2 G and B2 = K G
    levels = math.ceil(math.log2(horizon))
    node_delta, call_delta = delta / (2 * levels), delta / (2 * calls)
    node_log, call_log = math.log(1 / node_delta), math.log(1 / call_delta)
    node_epsilon = epsilon / (2 * levels * node_log if printed else 2 * math.sqrt(2 * levels * node_log))
    # alg:framework, line 3, has the factor 2 that cor:privacy-mle lacks.
    call_epsilon = epsilon / ((2 if printed else 1) * math.sqrt(2 * calls * call_log))
    return Noise(
        covariance=math.sqrt(2 * math.log(1.25 / node_delta)) / node_epsilon,
        estimate=2 * bound * math.sqrt(8 * math.log(2 / call_delta) + 4 * call_epsilon) / call_epsilon,
        ridge=max(RIDGE, 2 * CURVATURE * bound / call_epsilon),
    )


def floored(eigenvalues: np.ndarray) -> np.ndarray:
    """The ascending eigenvalues themselves if all are positive, otherwise raised to at least the ridge."""
    return eigenvalues if eigenvalues[0] > 0 else np.maximum(eigenvalues, RIDGE)


def newton_target(theta: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Minimizer over the ball of the quadratic model at theta: (H + s I) t = H theta - g, s >= 0, |t| <= RADIUS."""
    values, vectors = np.linalg.eigh(hessian)
    right = vectors.T @ (hessian @ theta - gradient)
    shift = 0.0
    while True:
        target = right / (values + shift)
        norm = np.linalg.norm(target)
        if norm <= RADIUS * (1 + 1e-12):
            return vectors @ target
        # Newton on 1/|t(s)| = 1/RADIUS, which is concave and increasing in s: from the left it never overshoots.
        shift += norm**2 * (norm / RADIUS - 1) / np.sum(target**2 / (values + shift))


def private_mle(phi: np.ndarray, y: np.ndarray, ridge: float, linear: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Minimizer over |theta| <= RADIUS of the negative log-likelihood + ridge/2 |theta|^2 + linear' theta."""

    def objective(theta: np.ndarray, logits: np.ndarray) -> float:
        return np.logaddexp(0.0, logits).sum() - y @ logits + ridge / 2 * theta @ theta + linear @ theta

    theta, logits = start, ZETA * (phi @ start)
    value = objective(theta, logits)
    for _ in range(100):
        means = 1 / (1 + np.exp(-logits))
        gradient = ZETA * (phi.T @ (means - y)) + ridge * theta + linear
        hessian = ZETA**2 * (phi.T @ (phi * (means * (1 - means))[:, None])) + ridge * np.eye(len(theta))
        step = newton_target(theta, gradient, hessian) - theta
        slope = gradient @ step
        if slope > -1e-8:  # about twice the gap left, and this last step shrinks it quadratically
            return theta + step
        move, length = ZETA * (phi @ step), 1.0
        while (trial := objective(theta + length * step, logits + length * move)) > value + 1e-4 * length * slope:
            length /= 2
        theta, logits, value = theta + length * step, logits + length * move, trial
    raise RuntimeError("PrivateMLE did not converge")


def regret(contexts: np.ndarray, prices: np.ndarray, theta: np.ndarray) -> float:
    """Average expected revenue lost against the clairvoyant price, found by golden section (revenue is unimodal)."""
    base, root = contexts @ theta[:-1], math.sqrt(len(theta))

    def revenue(price: np.ndarray) -> np.ndarray:
        return price / (1 + np.exp(-ZETA * (base - price * theta[-1]) / root))

    low, high, ratio = np.zeros(len(prices)), np.ones(len(prices)), (math.sqrt(5) - 1) / 2
    for _ in range(45):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        go_left = revenue(left) > revenue(right)
        low, high = np.where(go_left, low, left), np.where(go_left, right, high)
    return float(np.mean(revenue((low + high) / 2) - revenue(prices)))


def run(horizon: int, dimension: int, epsilon: float, delta: float, calibration: str, seed: int) -> Result:
    """One trial of alg:framework on the instance of sec:numerical, eps1 = eps2 = epsilon, delta1 = delta2 = delta."""
    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    max_estimates = math.ceil(dimension * math.log2(horizon))
    noise = calibrate(calibration, horizon, max_estimates, epsilon, delta)
    printed = calibration == "printed"
    root = math.sqrt(dimension)
    theta_star = np.append(np.full(dimension - 1, -math.sqrt(0.1)), math.sqrt(1 - 0.1 * (dimension - 1)))
    contexts = rng.uniform(-1.0, 1.0, (horizon, dimension - 1))
    tastes = rng.uniform(size=horizon)  # a customer buys when this falls below the purchase probability
    prices = rng.uniform(size=horizon)  # all but the first T0 are overwritten
    demands = np.zeros(horizon)
    features = np.hstack([contexts, np.zeros((horizon, 1))]) / root
    candidates = np.empty((len(GRID), dimension))  # phi(x_n, p) for every price p of the grid
    candidates[:, -1] = -GRID / root

    theta, estimates = np.zeros(dimension), 0
    inverse, determinant = np.eye(dimension) / RIDGE, RIDGE**dimension  # of Lambda^p
    # The tree releases the exact sum plus the noise of its open nodes, so only the noise needs a slot per level.
    exact = RIDGE * np.eye(dimension)  # rho I + sum of phi phi'
    open_noise = np.zeros((horizon.bit_length(), dimension, dimension))
    upper = np.triu_indices(dimension)
    entry = np.zeros((dimension, dimension), dtype=int)  # which draw each entry of the symmetric noise takes
    entry[upper] = entry.T[upper] = np.arange(len(upper[0]))

    for n in range(horizon):  # n records are known
        if n >= EXPLORATION:
            if estimates < max_estimates:
                released = exact + open_noise.sum(axis=0)
                grown = np.linalg.det(released)  # as released, sign included; a repair is for the price alone
                if grown > 2 * determinant:
                    determinant, estimates = grown, estimates + 1
                    values, vectors = np.linalg.eigh(released)
                    inverse = (vectors / (floored(values) if printed else values)) @ vectors.T
                    linear = rng.normal(0.0, noise.estimate, dimension)
                    theta = private_mle(features[:n], demands[:n], noise.ridge, linear, theta)
            candidates[:, :-1] = features[n, :-1]
            forms = np.vecdot(candidates @ inverse, candidates)  # phi' inv(Lambda^p) phi
            bonus = WIDTH * np.sqrt(np.maximum(forms, 0.0))
            # The cap at 1 is left out: ties under it go to the larger uncapped value, then to the lower price.
            prices[n] = GRID[np.argmax(GRID / (1 + np.exp(-ZETA * (candidates @ theta))) + bonus)]
        phi = features[n]
        phi[-1] = -prices[n] / root
        demands[n] = tastes[n] < 1 / (1 + math.exp(-ZETA * (phi @ theta_star)))
        if estimates < max_estimates:
            exact += phi[:, None] * phi
            if noise.covariance > 0:
                level = ((n + 1) & -(n + 1)).bit_length() - 1  # least significant bit of the number of records
                open_noise[:level] = 0.0
                open_noise[level] = noise.covariance * rng.standard_normal(len(upper[0]))[entry]
    seconds = time.perf_counter() - started
    return Result(regret(contexts, prices, theta_star), estimates, seconds, prices)


def main() -> None:
    """Run some trials and print their table."""
    parser = argparse.ArgumentParser(description="Algorithm 1 of the paper as a plain NumPy loop.")
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--epsilon", type=float, default=1.0, help="eps1 = eps2, a cell of the paper's table")
    parser.add_argument("--delta", type=float, default=None, help="delta1 = delta2; by default 1/T^2")
    parser.add_argument("--calibration", choices=CALIBRATIONS, default="published")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="of the first trial; the next ones count up")
    args = parser.parse_args()
    delta = args.horizon**-2.0 if args.delta is None else args.delta
    print("  seed  regret x 1e4  estimates  us/period")
    rows = []
    for seed in range(args.seed, args.seed + args.trials):
        result = run(args.horizon, args.dimension, args.epsilon, delta, args.calibration, seed)
        rows.append((1e4 * result.average_regret, result.estimates, 1e6 * result.seconds / args.horizon))
        print("{:6d}  {:12.2f}  {:9d}  {:9.1f}".format(seed, *rows[-1]), flush=True)
    mean = np.mean(rows, axis=0)
    error = np.std(rows, axis=0, ddof=1)[0] / math.sqrt(args.trials) if args.trials > 1 else math.nan
    print(f"  mean  {mean[0]:12.2f}  {mean[1]:9.1f}  {mean[2]:9.1f}   (standard error of the regret {error:.2f})")


if __name__ == "__main__":
    main()
