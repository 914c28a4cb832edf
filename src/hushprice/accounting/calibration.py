"""From a budget to noise, as the paper has it: calibrations `printed` and `published`.

`printed` is what the algorithms say, word for word. `published` is the reading that reproduces the numbers of
tab:non-private, which do not come out of the printed constants; docs/readings.md compares the two. Neither is tuned.

Both are loose: the composition steps cost far more noise than the claimed guarantee needs. Neither is used to state a
proven epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushprice import checks
from hushprice.accounting.adjacency import Adjacency
from hushprice.accounting.budget import EpsilonDelta, PrivacyBudget
from hushprice.accounting.events import ContinualCovariance, NotPrivate, PerturbedEstimate
from hushprice.accounting.ledger import Entry, Ledger
from hushprice.errors import InvalidInput, NotAvailable


@dataclass(frozen=True, kw_only=True, slots=True)
class Constants:
    """The constants of sec:models that the noise depends on."""

    bound: float  # B_Y
    scale: float  # G
    curvature: float  # K

    def __post_init__(self) -> None:
        checks.positive(bound=self.bound, scale=self.scale, curvature=self.curvature)


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """Everything a budget decides about the two releasers."""

    covariance_noise: float  # sigma, standard deviation of an entry of W^n
    estimate_noise: float  # nu, standard deviation of an entry of w
    estimate_ridge: float  # rho after PrivateMLE raised it
    floored: bool  # is an indefinite Lambda repaired by an eigenvalue floor, or left as it is
    claimed: EpsilonDelta | None
    max_estimates: int | None = None  # D_inf, how many estimates share the claim; None where nothing is claimed

    def __post_init__(self) -> None:
        # A claim without noise, or noise that overflowed, must not get as far as a release.
        check = checks.non_negative if self.claimed is None else checks.positive
        check(covariance_noise=self.covariance_noise, estimate_noise=self.estimate_noise)
        checks.positive(estimate_ridge=self.estimate_ridge)
        if self.max_estimates is not None:
            checks.whole(1, max_estimates=self.max_estimates)
        elif self.claimed is not None:  # a claim is for so many estimates and no more
            raise InvalidInput("max_estimates must be given where something is claimed, got None")


def levels(horizon: int) -> int:
    """m = ceil(log2 T): levels of the binary tree over the T - 1 records a horizon ever sums; at least 1.

    >>> levels(100_000), levels(2), levels(1)
    (17, 1, 1)
    """
    checks.whole(1, horizon=horizon)
    return max(1, (int(horizon) - 1).bit_length())


def covariance_noise(share: EpsilonDelta, horizon: int, *, square_root: bool) -> float:
    """Standard deviation of each entry of W^n in PrivateCov.

    Paper: alg:private-cov, line 2 -- sigma^2 = 2 ln(1.25/d') / e'^2, e' = e / (2 m ln(1/d')), d' = d / 2m, m = levels.
    With `square_root`, e' = e / (2 sqrt(2 m ln(1/d'))), what advanced composition needs.

    >>> round(covariance_noise(EpsilonDelta(1.0, 1e-10), 10**5, square_root=False))
    6606
    """
    m = levels(horizon)
    delta = share.delta / (2 * m)
    checks.probability(delta_per_node=delta)  # the smallest floats underflow to 0
    spread = 2 * m * -math.log(delta)
    epsilon = share.epsilon / (2 * math.sqrt(spread) if square_root else spread)
    checks.positive(epsilon_per_node=epsilon)
    return math.sqrt(2 * (math.log(1.25) - math.log(delta))) / epsilon


def per_estimate(share: EpsilonDelta, calls: int, *, halved: bool) -> EpsilonDelta:
    """What one PrivateMLE call may cost.

    Paper: alg:framework, line 3 -- d' = d / 2D, e' = e / (2 sqrt(2 D ln(1/d'))), D = D_inf. Without `halved` the 2
    before the square root is left out, as in cor:privacy-mle.
    """
    checks.whole(1, max_estimates=calls)
    delta = share.delta / (2 * calls)
    checks.probability(delta_per_estimate=delta)
    epsilon = share.epsilon / ((2 if halved else 1) * math.sqrt(-2 * calls * math.log(delta)))
    checks.positive(epsilon_per_estimate=epsilon)
    return EpsilonDelta(epsilon, delta)


def estimate_noise(call: EpsilonDelta, constants: Constants) -> float:
    """nu of alg:private-mle, line 2: nu^2 = B1^2 (8 ln(2/d) + 4 e) / e^2, B1 = (B_Y + 1) G."""
    gradient = (constants.bound + 1) * constants.scale
    return gradient * math.sqrt(8 * (math.log(2) - math.log(call.delta)) + 4 * call.epsilon) / call.epsilon


def estimate_ridge(call: EpsilonDelta, constants: Constants, ridge: float) -> float:
    """rho of alg:private-mle, line 2: max(rho, 2 B2 / e), B2 = K G."""
    return max(ridge, 2 * constants.curvature * constants.scale / call.epsilon)


def calibrate(
    name: str,
    budget: PrivacyBudget,
    *,
    horizon: int,
    max_estimates: int,
    ridge: float,
    bound: float,
    scale: float,
    curvature: float,
) -> Noise:
    """The noise that calibration `name` buys for `budget`.

    `bound` (B_Y), `scale` (G) and `curvature` (K) are what the paper states for the demand family; `published` takes
    G = 1, the constant of its logistic example, whatever the slope.
    """
    if name == "tight":
        raise NotAvailable("calibration 'tight' is not available yet; choose 'printed' or 'published'")
    if name not in ("printed", "published"):
        raise InvalidInput(f"calibration must be one of printed, published, tight, got {name!r}")
    checks.positive(ridge=ridge, scale=scale)
    as_printed = name == "printed"
    constants = Constants(bound=bound, scale=scale if as_printed else 1.0, curvature=curvature)
    call = per_estimate(budget.estimates, max_estimates, halved=as_printed)
    return Noise(
        covariance_noise=covariance_noise(budget.covariance, horizon, square_root=not as_printed),
        estimate_noise=estimate_noise(call, constants),
        estimate_ridge=estimate_ridge(call, constants, ridge),
        floored=as_printed,
        claimed=budget.total,
        max_estimates=max_estimates,
    )


def without_noise(ridge: float) -> Noise:
    """Both noise steps removed: the paper's non-private comparison. Claims nothing."""
    checks.positive(ridge=ridge)
    return Noise(covariance_noise=0.0, estimate_noise=0.0, estimate_ridge=ridge, floored=False, claimed=None)


def events(
    noise: Noise, horizon: int, dimension: int
) -> tuple[ContinualCovariance | NotPrivate, PerturbedEstimate | NotPrivate]:
    """The event of the covariance stream and the event of one estimate."""
    if noise.claimed is None:
        return NotPrivate(), NotPrivate()
    return (
        ContinualCovariance(noise.covariance_noise, levels(horizon), dimension),
        PerturbedEstimate(noise.estimate_noise, noise.estimate_ridge, dimension),
    )


def open_ledger(noise: Noise, *, horizon: int, dimension: int, max_estimates: int) -> Ledger:
    """An empty ledger that allows one covariance stream and `max_estimates` estimates, and nothing else."""
    stream, estimate = events(noise, horizon, dimension)
    if noise.claimed is None:
        allowance: tuple[Entry, ...] = (Entry(NotPrivate(), max_estimates + 1),)
    else:
        allowance = (Entry(stream, 1), Entry(estimate, max_estimates))
    return Ledger(adjacency=Adjacency.REPLACE_ONE, claimed=noise.claimed, allowance=allowance)
