"""How much noise a budget buys, as published and tight, and the policy made of it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from hushprice import checks
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.gram import gram_releaser
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded, on_grid
from hushprice.policies.rival_parts.stretches import Stretched
from hushprice.policies.rivals.shariff_sheffet.pricing import Arms, Ellipsoid, LinearDemand, LinearRevenue
from hushprice.privacy import gaussian, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import FROBENIUS, CovarianceStream
from hushprice.privacy.streams import Strategy, Tree, steps_of, toeplitz
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {
    "shariff-sheffet": ("calibration",),
    "shariff-sheffet-revenue": ("calibration",),
}
CALIBRATIONS = ("published", "tight")
ROW = math.sqrt(2.0)  # a row [psi; y] has length at most L~ = sqrt(1 + 1); the stream holds rows over L~
_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim


@dataclass(frozen=True, kw_only=True, slots=True)
class GramNoise:
    """What is added to the stream, and how far it can reach: `spread` bounds its operator norm in every round."""

    event: CovarianceStream
    spread: float  # in units of psi psi'
    drift: float  # bounds the length of the noise on sum of y psi


def published(claimed: EpsilonDelta, dimension: int, horizon: int) -> GramNoise:
    """The Gaussian mechanism of the source: a tree, s = 4 sqrt(m) L~^2 ln(4/delta)/epsilon a node, its own bounds."""
    levels = 1 + max(1, math.ceil(math.log2(max(horizon, 2))))
    s = 4.0 * math.sqrt(levels) * math.log(4.0 / claimed.delta) / claimed.epsilon  # of rows over L~
    event = _event(Tree(levels), dimension, horizon, ROW * s)  # (Z + Z')/sqrt(2) has s sqrt(2) on the diagonal
    rare = 2.0 * horizon**2
    spread = ROW**2 * s * math.sqrt(2.0 * levels) * (4.0 * math.sqrt(dimension - 1) + 2.0 * math.log(rare))
    drift = ROW**2 * s * math.sqrt(levels) * (math.sqrt(dimension - 1) + math.sqrt(2.0 * math.log(rare)))
    return GramNoise(event=event, spread=spread, drift=drift)


def tight(claimed: EpsilonDelta, dimension: int, horizon: int, adjacency: Adjacency) -> GramNoise:
    """The least noise that proves the claim, in a Toeplitz factorization, and a sharper bound on its norm.

    A symmetric Gaussian matrix with deviation s off the diagonal and s sqrt(2) on it has a mean norm of at most 2 s
    sqrt(d), and the norm is s sqrt(2)-Lipschitz in independent normals: P(norm > 2 s sqrt(d) + t) <= e^(-t^2 / 4 s^2).
    """
    strategy, steps = toeplitz(horizon), steps_of(horizon)
    mu = gaussian.mu_of(claimed.epsilon * (1.0 - _MARGIN), claimed.delta)
    noise = sensitivity.of_covariance(adjacency) * strategy.column_norm(steps) / mu * (1.0 + _MARGIN)
    event = _event(strategy, dimension, horizon, noise)
    s = ROW**2 * noise * strategy.row_norm(steps) / math.sqrt(2.0)
    rare = math.log(4.0 * horizon**2)
    return GramNoise(
        event=event,
        spread=s * (2.0 * math.sqrt(dimension - 1) + 2.0 * math.sqrt(rare)),
        drift=s * (math.sqrt(dimension - 1) + math.sqrt(2.0 * rare)),
    )


def _event(strategy: Strategy, dimension: int, horizon: int, noise: float) -> CovarianceStream:
    return CovarianceStream(
        strategy=strategy, steps=steps_of(horizon), dimension=dimension, noise=noise, layout=FROBENIUS
    )


class ShariffSheffet(Stretched):
    """Both sides in one trial. The stream is continual; its newest sum is taken up where a stretch ends."""

    def __init__(
        self,
        frame: Frame,
        rng: np.random.Generator,
        source: Source | None = None,
        *,
        noise: GramNoise | None,
        arms: type[Arms],
    ) -> None:
        super().__init__()
        self._arms = arms(frame)
        event = None if noise is None else noise.event
        self._releaser = gram_releaser(self._arms.dimension + 1, frame.horizon, event, source or rng)
        spread, drift = (1.0, 0.0) if noise is None else (noise.spread, noise.drift)
        self._belief = Ellipsoid(self._arms.dimension, frame.horizon, spread, drift, size=self._arms.size)

    def prices(self, customers: Customers) -> FloatArray:
        return self._arms.choose(customers, self._belief)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        self._releaser.absorb_many(self._arms.rows(customers, prices, demands))

    def refit(self) -> None:
        self._belief.accept(self._releaser.release())


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    checks.one_of(CALIBRATIONS, calibration=asked.calibration)
    arms: type[Arms] = LinearRevenue if asked.name.endswith("-revenue") else LinearDemand
    size = arms(frame).dimension + 1
    noise = None
    if asked.drawn and asked.calibration == "published":
        noise = published(asked.claimed, size, frame.horizon)
    elif asked.drawn:
        noise = tight(asked.buys, size, frame.horizon, asked.adjacency)
    if noise is not None and asked.live:
        noise = replace(noise, event=on_grid(noise.event))
    begin = functools.partial(ShariffSheffet, noise=noise, arms=arms)
    event = None if noise is None else noise.event
    return guarded(asked, frame, begin, event, claimed=asked.claimed, calibration=asked.calibration)
