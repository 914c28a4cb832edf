"""From an event to its privacy loss: how much likelier what was released can be in one world than in its neighbour.

The loss of everything together is at most pure + G + sum_i (shift_i + scale_i R_i), where `pure` is a number
(what releases of a bounded loss, as by Laplace noise, add at most), G is the
loss of one mu-GDP release, N(mu^2/2, mu^2), and the R_i are independent lengths of a standard normal vector in one or
two dimensions, independent of G. Releases may be chosen one after the other, each in view of those before
(docs/proofs/composition.md). In either world this may fail to hold with the probability `failure`
(docs/proofs/log_schema.md, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri_exp

from hushprice.errors import InvalidInput
from hushprice.privacy import sensitivity, shuffle
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import (
    AggregatedBatches,
    Batches,
    BitReports,
    CovarianceStream,
    DirectionReports,
    EarlierFit,
    Event,
    GaussianSums,
    LaplaceBatches,
    LaplaceSums,
    LogFit,
    LogSums,
    MomentBatches,
    NotPrivate,
    PerturbedEstimate,
    RowCounts,
    ShuffledBits,
    grid_of,
)

# Changes are taken to be larger by this share: ||phi|| may pass 1 by 1e-12 and products of floats are rounded, as are
# the numbers an accountant computes with (docs/proofs/sensitivity.md, section 4).
_ROUNDING = 1e-10
_CUT = 2.0**-37  # of an entry: what cutting a live score and psi to 2^-40 turns them by (docs/proofs/batches.md, 6)


@dataclass(frozen=True, slots=True)
class Radial:
    """`count` independent losses, each at most shift + scale R, R the length of a normal vector in `degree` dims."""

    count: int
    shift: float
    scale: float
    degree: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """A bound on the privacy loss of some releases."""

    mu_squared: float = 0.0  # of all Gaussian releases together
    pure: float = 0.0  # epsilon of all releases that have one at delta 0, together
    radials: tuple[Radial, ...] = ()
    coordinates: int = 0  # noise numbers drawn on a grid rather than from the real line
    unbounded: bool = False  # something was released without noise
    failure: float = 0.0  # the probability, in each world, that all this does not hold
    epsilon: float = 0.0  # of fits of which only (epsilon, delta) is known: no number of records multiplies it
    delta: float = 0.0

    @property
    def mu(self) -> float:
        """All of it as one mu-GDP release.

        A release of epsilon at delta 0 is mu-GDP with Phi(-mu/2) = 1/(1 + e^epsilon): the two trade-off curves meet
        where errors are equal, and elsewhere the Gaussian one lies below (Dong, Roth and Su 2022).
        """
        return math.hypot(math.sqrt(self.mu_squared), mu_of_pure(self.pure))


def mu_of_pure(epsilon: float) -> float:
    """The least mu such that every release of this epsilon at delta 0 is mu-GDP.

    >>> round(mu_of_pure(1.0), 4), mu_of_pure(0.0)
    (1.232, 0.0)
    """
    # By logarithms, so that a large epsilon has a large mu: 1/(1 + e^epsilon) itself is 0 from 745 on.
    return -2.0 * float(ndtri_exp(-np.logaddexp(0.0, epsilon))) if epsilon > 0.0 else 0.0


def loss_of(event: Event, count: int, adjacency: Adjacency) -> Loss:
    """The loss of `count` releases of this kind. An event of an unknown kind is refused."""
    match event:
        case CovarianceStream():
            return _of_stream(event, count, adjacency)
        case PerturbedEstimate():
            return _of_estimate(event, count, adjacency)
        case Batches():
            return _of_batches(event, count, adjacency)
        case MomentBatches():
            return _of_moments(event, count, adjacency)
        case RowCounts():
            return _of_counts(event, count, adjacency)
        case LogFit():
            return _of_log_fit(event, count)
        case EarlierFit():
            return _of_fit(event, count)
        case LogSums():
            return _of_log_sums(event, count, adjacency)
        case LaplaceSums():
            rounded = _rounded(event.scale) if event.live else 0.0
            return Loss(pure=count * event.levels * ((1.0 + _ROUNDING) / event.scale + rounded))
        case BitReports() | DirectionReports():
            return Loss(pure=count * (1.0 + _ROUNDING) * (math.log(event.keep) - math.log1p(-event.keep)))
        case GaussianSums():
            return _of_sums(event, count, adjacency)
        case LaplaceBatches() | AggregatedBatches():  # the other aggregator's shares are noise: docs/proofs/trust.md, 5
            return _of_laplace(event, count, adjacency)
        case ShuffledBits():
            return _of_shuffled(event, count)
        case NotPrivate():
            return Loss(unbounded=True)
    raise InvalidInput(f"no accountant knows the event {event!r}")


def compose(losses: Iterable[Loss]) -> Loss:
    """The loss of all of them together."""
    losses = tuple(losses)
    return Loss(
        mu_squared=math.fsum(loss.mu_squared for loss in losses),
        pure=math.fsum(loss.pure for loss in losses),
        radials=tuple(radial for loss in losses for radial in loss.radials),
        coordinates=sum(loss.coordinates for loss in losses),
        unbounded=any(loss.unbounded for loss in losses),
        failure=math.fsum(loss.failure for loss in losses),
        epsilon=math.fsum(loss.epsilon for loss in losses),
        delta=math.fsum(loss.delta for loss in losses),
    )


def _of_stream(event: CovarianceStream, count: int, adjacency: Adjacency) -> Loss:
    """One record moves C x by its own change times a column of C (docs/proofs/continual_release.md)."""
    moved = (1.0 + _ROUNDING) * sensitivity.of_covariance(adjacency) * event.strategy.column_norm(event.steps)
    numbers = stream_numbers(event)
    if event.grid > 0.0:
        # What is added to the noise is rounded to the grid: two worlds' roundings differ by at most one grid step a
        # number, and the fixed-point filter before it by far less than another
        # (mechanisms/exact_covariance.py).
        moved += 2.0 * event.grid * math.sqrt(numbers)
    return Loss(
        mu_squared=count * _square(moved / event.noise),
        coordinates=count * numbers if event.grid > 0.0 else 0,
    )


def stream_numbers(event: CovarianceStream) -> int:
    """Noise numbers in the whole stream: one row a record, whether a row of the filter or a node of the tree."""
    return event.steps * event.entries


def _of_estimate(event: PerturbedEstimate, count: int, adjacency: Adjacency) -> Loss:
    """docs/proofs/objective_perturbation.md: the exact minimizer's loss is radial, the output noise's is Gaussian."""
    change, degree = sensitivity.of_gradients(event.gradient, event.difference, adjacency)
    scale = (1.0 + _ROUNDING) * change / event.noise
    shift = math.log1p((1.0 + _ROUNDING) * event.curvature / event.ridge) + 0.5 * scale * scale
    moved = (1.0 + _ROUNDING) * (2.0 * event.distance + event.output_grid * math.sqrt(event.dimension))
    gridded = int(event.grid > 0.0) + int(event.output_grid > 0.0)
    return Loss(
        mu_squared=count * _square(moved / event.output_noise),
        radials=(Radial(count, shift, scale, degree),),
        coordinates=count * gridded * event.dimension,
    )


def _of_batches(event: Batches, count: int, adjacency: Adjacency) -> Loss:
    """One record moves its own batch and no other, whatever ended it (docs/proofs/batches.md).

    Two scores of length 1 differ by at most 2, and one from nothing by 1. Two records never do all that and differ as
    much as they can in their curvatures too: both are charged, less what they exclude. Rounding moves a number by less
    than two grid steps. A batch's grid may be 2^-32 of its noise where grid_of(curvature_noise) is half of that: hence
    the factor 2.
    """
    change, _ = sensitivity.of_gradients(1.0, 2.0, adjacency)
    scores = (1.0 + _ROUNDING) * change
    curvature = (1.0 + _ROUNDING) * sensitivity.of_covariance(adjacency)
    numbers = event.entries << event.levels
    if event.live:
        scores += (2.0 * grid_of(event.score_noise) + _CUT) * math.sqrt(event.dimension)
        curvature += 2.0 * grid_of(event.curvature_noise) * 2.0 * math.sqrt(numbers)
        curvature += 2.0 * _CUT * math.sqrt(event.dimension)
    apart = _square(scores / event.score_noise) + _square(curvature / event.curvature_noise)
    excluded = sensitivity.overcounted(event.score_noise, event.curvature_noise, adjacency)
    return Loss(
        mu_squared=count * (apart - excluded),
        coordinates=count * (numbers + event.dimension) if event.live else 0,
    )


def _of_moments(event: MomentBatches, count: int, adjacency: Adjacency) -> Loss:
    """One record moves its own batch and no other: three sums, each with noise of its own (docs/proofs/moments.md).

    Live, a number is cut to 2^-40 in each world, and its sum rounded to the noise's grid: less than _CUT and two grid
    steps apart. The choice that this weighs most heavily on is charged.
    """
    described = (1.0 + _ROUNDING) * sensitivity.of_covariance(adjacency)
    earned = 1.0 + _ROUNDING
    scored = 0.0  # in units of the noise
    for own in event.own:
        moved = sensitivity.of_moments(event.largest, own, adjacency)
        deviation = event.noise * moved
        moved *= 1.0 + _ROUNDING
        if event.live:
            moved += (2.0 * grid_of(deviation) + _CUT) * math.sqrt(event.scores)
        scored = max(scored, moved / deviation)
    if event.live:
        described += (2.0 * grid_of(event.description_noise) + _CUT) * math.sqrt(event.descriptions)
        earned += (2.0 * grid_of(event.earnings_noise) + _CUT) * math.sqrt(2.0)
    if event.descriptions == 0:
        described = 0.0
    return Loss(
        mu_squared=count
        * (_square(scored) + _square(described / event.description_noise) + _square(earned / event.earnings_noise)),
        coordinates=count * (event.scores + event.descriptions + 2) if event.live else 0,
    )


def _of_counts(event: RowCounts, count: int, adjacency: Adjacency) -> Loss:
    """One person moves at most `rows` counts down and as many up (docs/proofs/log_schema.md, sections 2 to 4).

    Counts are whole and so on the noise's grid: nothing is rounded. A text that only this person has, at most `rows` of
    them, passes the threshold with at most the probability that noise passes threshold - rows, less two grid steps for
    noise on a grid. Counts that nobody of the two moves have the same law in both worlds: their noise costs nothing.
    """
    moved = (1.0 + _ROUNDING) * sensitivity.of_counts(event.rows, adjacency)
    grid = grid_of(event.noise) if event.live else 0.0
    failure = 0.0
    if event.threshold is not None:
        beyond = (event.threshold - event.rows - 2.0 * grid) / event.noise
        failure = (1.0 + _ROUNDING) * event.rows * float(ndtr(-beyond))
    return Loss(
        mu_squared=count * _square(moved / event.noise),
        coordinates=count * 2 * event.rows if event.live else 0,
        failure=count * failure,
    )


def _of_log_fit(event: LogFit, count: int) -> Loss:
    """One unit moves every sum of a fit by 1 at most, replaced or left out (docs/proofs/log_fit.md).

    Live, every number of every row is cut to 2^-40, and each sum rounded to the noise's grid.
    """
    total = 0.0
    for numbers, noise in event.releases:
        moved = 1.0 + _ROUNDING
        if event.live:
            moved += (2.0 * grid_of(noise) + _CUT * event.rows) * math.sqrt(numbers)
        total += _square(moved / noise)
    drawn = sum(numbers for numbers, _ in event.releases) if event.live else 0
    return Loss(mu_squared=count * total, coordinates=count * drawn)


def _of_fit(event: EarlierFit, count: int) -> Loss:
    """By its mu where it has one, otherwise by its (epsilon, delta) (docs/proofs/composition.md, section 6)."""
    if event.mu is None:
        return Loss(epsilon=count * event.epsilon, delta=count * event.delta)
    return Loss(mu_squared=count * _square(event.mu), coordinates=count * event.numbers)


def _of_log_sums(event: LogSums, count: int, adjacency: Adjacency) -> Loss:
    """One person moves the sum by what their rows add (docs/proofs/log_values.md).

    Live, each number of a row is cut to 2^-40 in each world, and the sum rounded to the noise's grid once.
    """
    moved = (1.0 + _ROUNDING) * sensitivity.of_log_sums(event.rows, adjacency)
    if event.live:
        moved += (2.0 * grid_of(event.noise) + event.rows * _CUT) * math.sqrt(event.entries)
    return Loss(
        mu_squared=count * _square(moved / event.noise),
        coordinates=count * event.entries if event.live else 0,
    )


def _of_sums(event: GaussianSums, count: int, adjacency: Adjacency) -> Loss:
    """One record moves each of its sums by its own vector (docs/proofs/pure.md, section 5).

    Live, each number of a record is cut to 2^-40 in each world, and every sum rounded to the noise's grid once.
    """
    moved = (1.0 + _ROUNDING) * sensitivity.of_gradients(1.0, event.apart, adjacency)[0]
    if event.live:
        moved += (2.0 * grid_of(event.noise) + _CUT) * math.sqrt(event.entries)
    return Loss(
        mu_squared=count * event.rounds * _square(moved / event.noise),
        coordinates=count * event.rounds * event.entries if event.live else 0,
    )


def _of_laplace(event: LaplaceBatches, count: int, adjacency: Adjacency) -> Loss:
    """One record moves one side of its own batch and no other (docs/proofs/moments.md).

    Laplace noise costs what numbers move by over their scales, at delta 0, on a grid too. The choice that this weighs
    most heavily on is charged. Of a batch one side moves, and one of the two earnings; with a scale of its own for the
    holdout, a record there moves no side, so what either of the two kinds of slot costs at most is charged.
    """
    scored = max(_of_scales(event, common, personal, adjacency) for common, personal in event.scales)
    priced = scored + _of_earnings(event, event.earnings_scale)
    apart = 0.0 if event.holdout_scale is None else _of_earnings(event, event.holdout_scale)
    described = (1.0 + _ROUNDING) * sensitivity.of_covariance(adjacency)
    if event.live:
        described += (2.0 * grid_of(event.description_noise) + _CUT) * math.sqrt(event.descriptions)
    if event.descriptions == 0:
        described = 0.0
    return Loss(
        mu_squared=count * _square(described / event.description_noise),
        pure=count * max(priced, apart),
        coordinates=count * event.descriptions if event.live else 0,
    )


def _of_earnings(event: LaplaceBatches, scale: float) -> float:
    """Epsilon of what one group earned, with noise of this scale."""
    return (1.0 + _ROUNDING) / scale + (_rounded(scale) if event.live else 0.0)


def _of_shuffled(event: ShuffledBits, count: int) -> Loss:
    """One record's bit hides among those of its side of a batch, at least `among` of them (docs/proofs/trust.md, 4).

    The pair of `steps` that tells most is charged. A record zeroed out sends a bit too.
    """
    found = max(shuffle.epsilon_of(keep, among, event.delta) for among, keep in event.steps)
    return Loss(epsilon=count * (1.0 + _ROUNDING) * found, delta=count * event.delta)


def _of_scales(event: LaplaceBatches, common: float, personal: float, adjacency: Adjacency) -> float:
    """Epsilon of a side's numbers, 1 + contexts of them, with noise of these scales."""
    weights = 1.0 / common, 1.0 / personal
    moved = (1.0 + _ROUNDING) * sensitivity.of_sides(event.least, event.most, weights, adjacency)
    return moved + _rounded(common) + event.contexts * _rounded(personal) if event.live else moved


def _rounded(scale: float) -> float:
    """What cutting a number to 2^-40 and rounding its sum to the grid may add to a loss; nothing where it is left out.

    Less than 2 2^-40 and one grid step apart in two worlds; charged are 8 and two, as everywhere.
    """
    return (2.0 * grid_of(scale) + _CUT) / scale if scale < math.inf else 0.0


def _square(value: float) -> float:
    """Infinity where `**` would raise: a forged noise may be anything."""
    return value * value
