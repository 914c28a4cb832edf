"""How much noise a budget buys, as published and tight, and the policy made of it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from hushprice import checks
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.descent import descend
from hushprice.policies.rival_parts.private.gram import gram_releaser
from hushprice.policies.rival_parts.private.sums import NoisySums
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded, on_grid
from hushprice.policies.rival_parts.stretches import Stretched
from hushprice.policies.rivals.shuffle_glm.pricing import SMALL, ZETA, Optimism
from hushprice.privacy import gaussian, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import FROBENIUS, CovarianceStream, GaussianSums
from hushprice.privacy.streams import Tree, steps_of, toeplitz
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"shuffle-glm": ("calibration",)}
CALIBRATIONS = ("published", "tight")
FITS = 2  # in a trial: what the runs had that the source's numbers come from
CLIP = 0.2  # a gradient is cut to this length
_STREAM_SHARE = 0.2  # of mu^2, tight: H says when to fit and how wide to be, the fits say where
_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim


@dataclass(frozen=True, kw_only=True, slots=True)
class RegressionNoise:
    """What is added to H and to the gradients of each fit, and lambda."""

    stream: CovarianceStream | None
    sums: GaussianSums | None
    steps: int  # of a fit
    ridge: float


def steps_for(epsilon: float) -> int:
    """Gradient steps of a fit that may spend so much (the published code)."""
    return next((steps for most, steps in ((0.1, 15), (0.3, 25), (1.0, 50), (2.0, 75)) if epsilon <= most), 100)


def least_ridge(dimension: int, horizon: int) -> float:
    """lambda without noise: 0.75 d ln(4T/zeta)."""
    return 0.75 * dimension * math.log(4.0 * horizon / ZETA)


def published(claimed: EpsilonDelta, dimension: int, horizon: int) -> RegressionNoise:
    """The source's: epsilon/3 and delta/3 for H, as much for all fits; both by rho-zCDP, neighbours zeroed out.

    A node of H has s = 1/4 sqrt(m / 2 rho) on the diagonal, sqrt(rho) = sqrt(ln(3/delta) + epsilon/3) -
    sqrt(ln(3/delta)): e times what a record, at most psi psi' / 4e, needs. Left out: the sum V of the warm-up, which
    had no rounds in any run of theirs.
    """
    levels = 1 + max(1, math.ceil(math.log2(max(horizon, 2))))
    root = _root_rho(claimed.epsilon / 3.0, claimed.delta / 3.0)
    each = claimed.epsilon / (3.0 * FITS)
    steps = steps_for(each)
    widest = 1.5 * math.log(4.0 / claimed.delta) * math.log(4.0 * horizon / ZETA) ** 2 / (4.0 * claimed.epsilon)
    return RegressionNoise(
        stream=CovarianceStream(
            strategy=Tree(levels),
            steps=steps_of(horizon),
            dimension=dimension,
            noise=math.e * math.sqrt(0.5 * levels) / root,
            layout=FROBENIUS,
        ),
        sums=GaussianSums(
            rounds=FITS * steps, noise=math.sqrt(0.5 * steps) / _root_rho(each, claimed.delta / (3.0 * FITS))
        ),
        steps=steps,
        ridge=widest / 0.75 + least_ridge(dimension, horizon),
    )


def _root_rho(epsilon: float, delta: float) -> float:
    """The root of the zCDP that has this epsilon at this delta: epsilon = rho + 2 sqrt(rho ln(1/delta))."""
    deep = math.log(1.0 / delta)
    return math.sqrt(deep + epsilon) - math.sqrt(deep)


def tight(claimed: EpsilonDelta, dimension: int, horizon: int, adjacency: Adjacency) -> RegressionNoise:
    """The least noise that proves the claim, H in a Toeplitz factorization; lambda twice a bound on H's noise.

    The norm of a symmetric Gaussian matrix: see `shariff-sheffet`.
    """
    strategy, steps = toeplitz(horizon), steps_of(horizon)
    mu = gaussian.mu_of(claimed.epsilon * (1.0 - _MARGIN), claimed.delta) / (1.0 + _MARGIN)
    noise = sensitivity.of_covariance(adjacency) * strategy.column_norm(steps) / (mu * math.sqrt(_STREAM_SHARE))
    fit_steps = steps_for(claimed.epsilon / FITS)
    moved = sensitivity.of_gradients(1.0, 2.0, adjacency)[0] / (mu * math.sqrt(1.0 - _STREAM_SHARE))
    reach = noise * strategy.row_norm(steps) * math.sqrt(2.0)
    spread = SMALL * reach * (math.sqrt(dimension) + math.sqrt(math.log(4.0 * horizon**2)))
    return RegressionNoise(
        stream=CovarianceStream(strategy=strategy, steps=steps, dimension=dimension, noise=noise, layout=FROBENIUS),
        sums=GaussianSums(rounds=FITS * fit_steps, noise=moved * math.sqrt(FITS * fit_steps)),
        steps=fit_steps,
        ridge=2.0 * spread + least_ridge(dimension, horizon),
    )


class ShuffleGlm(Stretched):
    """Both sides in one trial."""

    def __init__(
        self, frame: Frame, rng: np.random.Generator, source: Source | None = None, *, noise: RegressionNoise
    ) -> None:
        super().__init__()
        self._frame, self._noise, self._fits = frame, noise, 0
        self._rows = Rows(frame.dimension)  # sensitive
        self._stream = gram_releaser(frame.dimension, frame.horizon, noise.stream, source or rng)
        self._sums = NoisySums(noise.sums, source or rng)
        self.belief = Optimism(frame.dimension, frame.horizon, noise.ridge)

    def prices(self, customers: Customers) -> FloatArray:
        return self.belief.prices(self._frame, customers)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        frame = self._frame
        self._rows.add_customers(frame, customers, prices, np.clip(demands, 0.0, 1.0))
        chance = expit(frame.offset(prices))
        steepness = np.sqrt(4.0 * chance * (1.0 - chance))  # at theta = 0, where the warm-up would have been
        self._stream.absorb_many(steepness[:, None] * customers.features(prices) / frame.length)

    def refit(self) -> None:
        if self._fits < FITS and self.belief.accept(self._stream.release()):
            self._fits += 1
            theta = descend(self._rows, self._frame, self.belief.theta, self._sums, steps=self._noise.steps, clip=CLIP)
            self.belief.keep(theta)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    checks.one_of(CALIBRATIONS, calibration=asked.calibration)
    if not asked.drawn:
        noise = RegressionNoise(stream=None, sums=None, steps=100, ridge=least_ridge(frame.dimension, frame.horizon))
    elif asked.calibration == "published":
        noise = published(asked.claimed, frame.dimension, frame.horizon)
    else:
        noise = tight(asked.buys, frame.dimension, frame.horizon, asked.adjacency)
    if noise.stream is not None and noise.sums is not None and asked.live:
        sums = replace(noise.sums, entries=frame.dimension, live=True)
        noise = replace(noise, stream=on_grid(noise.stream), sums=sums)
    begin = functools.partial(ShuffleGlm, noise=noise)
    calibration, events = asked.calibration, (noise.stream, noise.sums)
    return guarded(asked, frame, begin, *events, claimed=asked.claimed, calibration=calibration)
