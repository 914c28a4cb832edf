"""PrivateMLE, audited by the exact density of what it releases.

Where the minimizer theta lies inside the ball, the tilt behind it is b = -(gradient of the losses + ridge theta), and
theta has density N(b; 0, nu^2 I) det H(theta). On the sphere the ball's multiplier k joins in: b = -(gradient +
(ridge + k) theta), and (theta, k) has density N(b; 0, nu^2 I) R det(tangent block of H + k I), R the radius; k is not
released, so this grants an attacker more than there is. In both cases the privacy loss of what was really released is a
number one can compute, in either world, for any neighbouring pair. The releaser is run as it is, records through
`Records` and noise from a script; gradients and Hessians here come from the demand family and not from the solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

from hushprice import checks
from hushprice.demand.protocol import Demand, lowest
from hushprice.numerics import tape
from hushprice.policies.paper.private.estimate import EstimateReleaser, PrivateMLE
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import PerturbedEstimate
from hushprice.privacy.loss import loss_of
from hushprice.privacy.sensitivity import RADIUS
from hushprice.records import Records
from hushprice.research.audits.finding import Measurement
from hushprice.types import FloatArray

_ON_SPHERE = 1e-9  # theta this near the sphere is on it, if it then needs a positive multiplier
_SLACK = 1e-9  # of computing a loss and its bound in floating point
_DELTAS = (0.1, 0.01, 0.001)
FALSE_ALARM = 1e-6  # of one comparison of a measured delta with the claimed one


@dataclass(frozen=True, slots=True, eq=False)
class NeighbouringDatabases:
    """Two databases that differ in one record; (d, records) features and (records,) demands each.

    A record that was zeroed out has no features: its gradient and its Hessian are zero.
    """

    features: FloatArray
    demands: FloatArray
    other: FloatArray
    other_demand: float

    @property
    def worlds(self) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """Both databases; they differ in the last record."""
        features, demands = self.features.copy(), self.demands.copy()
        features[:, -1], demands[-1] = self.other, self.other_demand
        return (self.features, self.demands), (features, demands)


class ScriptedTilts:
    """A noise source that adds the tilt it is told, scaled as it is asked, and notes what else it was asked for."""

    label = "script (audit only, not private)"
    secure = False

    def __init__(self, *, simulated: bool, dimension: int) -> None:
        self.simulated = simulated
        self.row: FloatArray = np.zeros(dimension)
        self.asked: dict[int, float] = {}

    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        """Noise for the tilt; none for the output, whose noise hides the solver's error and is accounted apart."""
        self.asked[stream] = noise
        return values + noise * self.row if stream == tape.ESTIMATE_NOISE else values

    def uniform(self, stream: int, period: int) -> float:
        raise NotImplementedError


BuildEstimate = Callable[[Any], EstimateReleaser]


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseSample:
    """Releases from one database before their output noise, and the noise they were made with."""

    thetas: FloatArray  # (draws, d)
    tilts: FloatArray  # (draws, d)
    noise: float  # deviation of the tilt, as asked for
    output_noise: float  # of the output, as asked for; 0 if never


def releaser_of(event: PerturbedEstimate, demand: Demand) -> BuildEstimate:
    """The releaser that the engine would make for this event, given a noise source."""
    return lambda source: PrivateMLE(
        demand=demand, dimension=event.dimension, ridge=event.ridge, source=source, event=event
    )


def sample(
    build: BuildEstimate, event: PerturbedEstimate, demand: Demand, world: Any, rows: FloatArray
) -> ReleaseSample:
    """Releases from one database, one for each row of standard normals."""
    records = Records(event.dimension, demand.bound, lowest(demand))
    for phi, bought in zip(world[0].T, world[1], strict=True):
        records.append(phi, float(bought))
    source = ScriptedTilts(simulated=event.grid == 0.0, dimension=event.dimension)
    thetas = []
    for row in rows:
        source.row = row
        thetas.append(build(source).release(records, 1).theta)  # a releaser each: a warm start is public, not audited
    noise = source.asked.get(tape.ESTIMATE_NOISE, 0.0)
    return ReleaseSample(np.array(thetas), noise * rows, noise, source.asked.get(tape.OUTPUT_NOISE, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class LossGeometry:
    """Gradient and Hessian of a database's losses at every theta: (draws, d) and (draws, d, d)."""

    gradient: FloatArray
    hessian: FloatArray


def geometry(demand: Demand, world: tuple[FloatArray, FloatArray], thetas: FloatArray) -> LossGeometry:
    """The losses' derivatives, from the demand family."""
    phi, bought = _held(world[0]), np.clip(world[1], lowest(demand), demand.bound)
    z = thetas @ phi
    residual, weight = demand.slope * (demand.mean(z) - bought), demand.slope * demand.mean_slope(z)
    return LossGeometry(residual @ phi.T, np.einsum("nr,ir,jr->nij", weight, phi, phi, optimize=True))


def multipliers(event: PerturbedEstimate, drawn: ReleaseSample, own: LossGeometry) -> FloatArray:
    """The ball's multiplier behind each release: 0 inside."""
    thetas = drawn.thetas
    squares = np.sum(thetas * thetas, axis=1)
    needed = -np.sum(thetas * (drawn.tilts + own.gradient + event.ridge * thetas), axis=1) / np.maximum(squares, 1e-300)
    return np.where((np.sqrt(squares) >= RADIUS - _ON_SPHERE) & (needed > 0.0), needed, 0.0)


def distances(event: PerturbedEstimate, drawn: ReleaseSample, own: LossGeometry, k: FloatArray) -> FloatArray:
    """How far each release is from the exact minimizer, to first order: a Newton step, on the sphere along it."""
    left = drawn.tilts + own.gradient + (event.ridge + k)[:, None] * drawn.thetas
    curved = own.hessian + (event.ridge + k)[:, None, None] * np.eye(event.dimension)
    away = np.empty(k.size)
    for n, theta in enumerate(drawn.thetas):
        basis = _tangent(theta) if k[n] > 0.0 else np.eye(event.dimension)
        away[n] = np.linalg.norm(np.linalg.solve(basis.T @ curved[n] @ basis, basis.T @ left[n])) if basis.size else 0.0
    return away


def log_density(
    event: PerturbedEstimate, noise: float, thetas: FloatArray, k: FloatArray, at: LossGeometry
) -> FloatArray:
    """ln density of (theta, k), up to what does not depend on the database."""
    tilts = at.gradient + (event.ridge + k)[:, None] * thetas
    curved = at.hessian + (event.ridge + k)[:, None, None] * np.eye(event.dimension)
    volume = np.empty(k.size)
    for n, theta in enumerate(thetas):
        basis = _tangent(theta) if k[n] > 0.0 else np.eye(event.dimension)
        volume[n] = np.linalg.slogdet(basis.T @ curved[n] @ basis)[1]
    return volume - 0.5 * np.sum(tilts * tilts, axis=1) / (noise * noise)


def audit_estimate(
    event: PerturbedEstimate,
    demand: Demand,
    neighbours: Iterable[NeighbouringDatabases],
    adjacency: Adjacency,
    *,
    draws: int = 1000,
    build: BuildEstimate | None = None,
    seed: int = 0,
) -> list[Measurement]:
    """Distance from the minimizer, privacy loss point by point, delta at the epsilons claimed, and the output noise."""
    checks.whole(1, draws=draws)
    build = releaser_of(event, demand) if build is None else build
    random = np.random.default_rng(seed)
    farthest, excess, worst = 0.0, -math.inf, 0.0
    hidden, spheres, total, measured = math.inf, 0, 0, 0
    claims = [(delta, accountant.epsilon_of(_alone(event, adjacency), delta)) for delta in _DELTAS]
    for pair in neighbours:
        worlds = pair.worlds
        plane = _plane(_held(np.stack([worlds[0][0][:, -1], worlds[1][0][:, -1]], axis=1)))
        for here, there in ((0, 1), (1, 0)):
            drawn = sample(build, event, demand, worlds[here], random.normal(size=(draws, event.dimension)))
            own, other = (geometry(demand, worlds[world], drawn.thetas) for world in (here, there))
            k = multipliers(event, drawn, own)
            farthest = max(farthest, float(distances(event, drawn, own, k).max()))
            if drawn.noise > 0.0:
                density = (log_density(event, drawn.noise, drawn.thetas, k, at) for at in (own, other))
                loss = np.subtract(*density)
            else:  # the tilt was never drawn
                loss = np.full(draws, math.inf)
            tilts = own.gradient + (event.ridge + k)[:, None] * drawn.thetas
            excess = max(excess, float(np.max(loss - _bound(event, adjacency, np.linalg.norm(tilts @ plane, axis=1)))))
            worst = max(worst, *(_least_delta(loss, epsilon, random) / delta for delta, epsilon in claims))
            hidden = min(hidden, drawn.output_noise)
            spheres, total, measured = spheres + int(np.sum(k > 0.0)), total + draws, measured + len(claims)
    ran = f"{total} releases, {spheres} of them on the sphere, {adjacency.value}"
    return [
        Measurement(
            "estimate: distance from the exact minimizer", farthest, event.distance, farthest <= event.distance, ran
        ),
        Measurement("estimate: privacy loss above its pointwise bound", excess, _SLACK, excess <= _SLACK, ran),
        Measurement(
            "estimate: delta measured over delta claimed",
            worst,
            1.0,
            worst <= 1.0,
            f"{ran}; {measured} lower confidence bounds, false alarm {FALSE_ALARM:g} each",
        ),
        Measurement(
            "estimate: output noise left out",
            max(0.0, event.output_noise - hidden),
            0.0,
            hidden >= event.output_noise,
            ran,
        ),
    ]


def _held(phi: FloatArray) -> FloatArray:
    """Columns scaled into the unit ball, as `Records` promises."""
    norms = np.linalg.norm(phi, axis=0)
    return phi / np.maximum(norms, 1.0)


def _alone(event: PerturbedEstimate, adjacency: Adjacency) -> Any:
    """The loss of one exact minimizer: what the density here is about, without the output noise's share."""
    loss = loss_of(event, 1, adjacency)
    return type(loss)(radials=loss.radials)


def _bound(event: PerturbedEstimate, adjacency: Adjacency, lengths: FloatArray) -> FloatArray:
    """What the proof allows where the tilt's part in the plane of the two records has these lengths."""
    (radial,) = loss_of(event, 1, adjacency).radials
    return radial.shift + radial.scale * lengths / event.noise


def _plane(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of what the two records' features span."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, sizes > 1e-12]


def _tangent(theta: FloatArray) -> FloatArray:
    """An orthonormal basis, in columns, of the directions along the sphere."""
    return np.linalg.svd(theta[None, :])[2][1:].T


def _least_delta(loss: FloatArray, epsilon: float, random: np.random.Generator) -> float:
    """A lower bound on E (1 - e^(epsilon - loss))+ that is too high with probability FALSE_ALARM at most.

    Each value becomes a coin with that probability of heads, so that the bound of Clopper and Pearson is exact.
    """
    values = -np.expm1(np.minimum(epsilon - loss, 0.0))
    heads = int(np.sum(random.random(values.size) < values))
    return float(beta.ppf(FALSE_ALARM, heads, values.size - heads + 1)) if heads else 0.0
