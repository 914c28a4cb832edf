"""Privacy cost as data: what was released, described fully enough that an accountant can be written from it alone.

Events are never removed and never change meaning, because certificates outlive versions.

`grid` is 0 for ideal, real-valued Gaussian noise (simulation). Otherwise noise is the exact discrete Gaussian on the
multiples of `grid`, and so is what it is added to (docs/proofs/discrete_noise.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.privacy.streams import Strategy, Toeplitz, Tree

TRIANGLE = "triangle"  # independent noise on the entries of the upper triangle, as alg:private-cov prints it
FROBENIUS = "frobenius"  # off-diagonal entries get 1/sqrt(2) of it: equally much in every direction of matrix space
LAYOUTS = (TRIANGLE, FROBENIUS)
LATER = {"later": True}  # of a field that certificates of before do not have: left out of them where it is None
MOST_LEVELS = 20  # a batch has at most 2^20 blocks
FINENESS = 32  # a grid is the power of two 2^-32 of the noise, or the next one below


@dataclass(frozen=True, kw_only=True, slots=True)
class CovarianceStream:
    """Every prefix sum of phi phi' over `steps` records, ||phi|| <= 1 (alg:private-cov).

    Published is C x + z: x has a row a record, the upper triangle of phi phi' (layout "triangle"), or the same with
    off-diagonal entries times sqrt(2) (layout "frobenius"); C is the strategy; z is N(0, noise^2) in every entry.
    """

    strategy: Strategy
    steps: int
    dimension: int
    noise: float
    layout: str
    grid: float = 0.0

    def __post_init__(self) -> None:
        checks.whole(1, steps=self.steps, dimension=self.dimension)
        checks.positive(noise=self.noise)
        _check_grid(self.grid, noise=self.noise)
        if not isinstance(self.strategy, (Tree, Toeplitz)):
            raise InvalidInput(f"strategy must be a Tree or a Toeplitz, got {checks.shown(self.strategy)}")
        self.strategy.column_norm(self.steps)  # refuses a tree that is too small for the records
        if self.layout not in LAYOUTS:
            raise InvalidInput(f"layout must be one of {', '.join(LAYOUTS)}, got {checks.shown(self.layout)}")

    @property
    def entries(self) -> int:
        """Numbers in one row of x."""
        return self.dimension * (self.dimension + 1) // 2


@dataclass(frozen=True, kw_only=True, slots=True)
class PerturbedEstimate:
    """One constrained maximum-likelihood estimate by objective perturbation (alg:private-mle), then output noise.

    The exact minimizer over ||theta|| <= 2 of sum_t loss_t + ridge/2 ||theta||^2 + w'theta, w ~ N(0, noise^2 I), is
    met within `distance`, and N(0, output_noise^2 I) is added. On the ball every record's loss has a gradient along its
    phi of norm at most `gradient`, two records' gradients differ by at most `difference`, and a record's Hessian is
    at most `curvature` phi phi', ||phi|| <= 1. `output_grid` is to the output noise what `grid` is to w.
    """

    dimension: int
    noise: float
    ridge: float
    gradient: float
    difference: float
    curvature: float
    distance: float
    output_noise: float
    grid: float = 0.0
    output_grid: float = 0.0

    def __post_init__(self) -> None:
        checks.whole(1, dimension=self.dimension)
        checks.positive(noise=self.noise, ridge=self.ridge, output_noise=self.output_noise)
        checks.positive(gradient=self.gradient, difference=self.difference, curvature=self.curvature)
        checks.positive(distance=self.distance)
        _check_grid(self.grid, noise=self.noise)
        _check_grid(self.output_grid, output_noise=self.output_noise)


@dataclass(frozen=True, kw_only=True, slots=True)
class Batches:
    """Batch after batch of records, each record in one of them (policy noisy-newton); any number of batches.

    Of a batch are published the sum of its records' scores, each of length at most 1, plus N(0, score_noise^2) in every
    entry, and C x + z: row b of x is the sum of psi psi' over the b-th block of the batch, ||psi|| <= 1, off-diagonal
    entries times sqrt(2), C the Toeplitz strategy of streams.py for the batch's number of blocks, a power of two up to
    2^levels, and z is N(0, (curvature_noise * longest column of C)^2) in every entry. A record's score and its psi are
    multiples of one vector, its features. Batches and blocks end where slot numbers and earlier releases say. `live`
    noise is on the grids that `grid_of` gives.
    """

    dimension: int
    score_noise: float
    curvature_noise: float
    levels: int
    live: bool = False

    def __post_init__(self) -> None:
        checks.whole(1, dimension=self.dimension)
        checks.whole(0, levels=self.levels)
        checks.within(0, MOST_LEVELS, levels=self.levels)
        checks.positive(score_noise=self.score_noise, curvature_noise=self.curvature_noise)
        if not isinstance(self.live, bool):
            raise InvalidInput(f"live must be True or False, got {checks.shown(self.live)}")

    @property
    def entries(self) -> int:
        """Numbers in one row of x."""
        return self.dimension * (self.dimension + 1) // 2


@dataclass(frozen=True, kw_only=True, slots=True)
class MomentBatches:
    """Batch after batch of records, each record in one of them (policy cautious); any number of batches.

    Of a batch are published, each plus independent Gaussian noise in every entry:
    - the sum of r psi over its records, `scores` numbers: r in [-1, largest], psi = [shared; own] of length at most 1,
      `shared` the same whatever the record is, `own` of length at most one of `own`, which the batch's public choice
      names. The noise's deviation is `noise` times what one record can move the sum by (sensitivity.of_moments);
    - the sum of descriptions of its customers, `descriptions` numbers: two differ by at most sqrt(2), one has length at
      most 1. Deviation: `description_noise`;
    - what its holdout and its other customers earned, two numbers, each record in one of them with at most 1, which one
      does not depend on the record. Deviation: `earnings_noise`.
    Batches end where slot numbers and earlier releases say. `live` noise is on the grids that `grid_of` gives.
    """

    scores: int
    descriptions: int
    largest: float
    own: tuple[float, ...]
    noise: float
    description_noise: float
    earnings_noise: float
    live: bool = False

    def __post_init__(self) -> None:
        checks.whole(1, scores=self.scores)
        checks.whole(0, descriptions=self.descriptions)
        checks.within(0.0, 1.0, largest=self.largest)
        for share in self.own:
            checks.within(0.0, 1.0, own=share)
        if not self.own:
            raise InvalidInput("own must name the choices there are, got none")
        checks.positive(noise=self.noise, description_noise=self.description_noise, earnings_noise=self.earnings_noise)
        if not isinstance(self.live, bool):
            raise InvalidInput(f"live must be True or False, got {checks.shown(self.live)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class RowCounts:
    """How many rows of a table lie in each cell of a public partition, or have each text of a column, published once.

    A record is all that one person has in the table: at most `rows` rows, each in one cell. The counts of cells get
    N(0, noise^2) each. With a `threshold`, cells are texts that nobody has declared: those that a row has get the same
    noise, and are published only where they pass the threshold then. `live` noise is on the grid of `grid_of`.
    """

    rows: int
    noise: float
    threshold: float | None = None
    live: bool = False

    def __post_init__(self) -> None:
        checks.whole(1, rows=self.rows)
        checks.positive(noise=self.noise)
        if self.threshold is not None:
            checks.at_least(self.rows, threshold=self.threshold)
        if not isinstance(self.live, bool):
            raise InvalidInput(f"live must be True or False, got {checks.shown(self.live)}")
        if self.live:
            checks.within(0.0, 2.0**FINENESS, noise=self.noise)  # its grid holds every whole number then


@dataclass(frozen=True, kw_only=True, slots=True)
class LogFit:
    """A fit of a log (logs/fit): as many descriptions of all its rows as `description_noise` has entries, then scores.

    A unit is a row, or, where `rows` is above 1, a customer with at most so many rows, who adds the mean of what the
    rows would add. Each sum is divided by what one unit can move it by, so that no unit moves it by more than 1; it has
    `descriptions` or `scores` numbers. Noise has the deviation given there. What a sum is made of is settled by the
    releases before it. `live` noise is on the grids that `grid_of` gives.
    """

    descriptions: int
    scores: int
    description_noise: tuple[float, ...]
    score_noise: tuple[float, ...]
    rows: int = 1
    live: bool = False

    def __post_init__(self) -> None:
        checks.whole(1, descriptions=self.descriptions, scores=self.scores, rows=self.rows)
        for name in ("description_noise", "score_noise"):
            if not getattr(self, name):
                raise InvalidInput(f"{name} must have an entry a release, got none")
            for noise in getattr(self, name):
                checks.positive(**{name: noise})
        if not isinstance(self.live, bool):
            raise InvalidInput(f"live must be True or False, got {checks.shown(self.live)}")

    @property
    def releases(self) -> tuple[tuple[int, float], ...]:
        """Of each release in turn: how many numbers, and the deviation of their noise."""
        described = ((self.descriptions, noise) for noise in self.description_noise)
        return (*described, *((self.scores, noise) for noise in self.score_noise))


@dataclass(frozen=True, kw_only=True, slots=True)
class LaplaceBatches:
    """Batch after batch of records, each record in one of them (policy cautious); any number of batches.

    A record is on one of two sides of its batch, which one does not depend on the record. Of a batch are published:
    - for each side the sum of h - y over its records, h in [least, most] and y in [0, 1], plus Laplace noise, and the
      sum of (h - y) x^, `contexts` numbers, |x^|_1 <= 1, plus Laplace noise in every entry. The scales of the two are
      one pair of `scales`, (common, personal), which the batch's public choice names; where personal is infinite,
      nothing is published of the second sum;
    - the sum of descriptions of its customers, `descriptions` numbers: two differ by at most sqrt(2), one has length at
      most 1. Gaussian noise of deviation `description_noise` in every entry;
    - what its holdout and its other customers earned, two numbers, each record in one of them with at most 1, which one
      does not depend on the record. Laplace noise of scale `earnings_scale`; for the holdout's of `holdout_scale` where
      that is given, and then records of the holdout add nothing to the sums of the sides.
    Batches end where slot numbers and earlier releases say. `live` noise is on the grids that `grid_of` gives.
    """

    contexts: int
    least: float
    most: float
    scales: tuple[tuple[float, float], ...]
    descriptions: int
    description_noise: float
    earnings_scale: float
    live: bool = False
    holdout_scale: float | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        checks.whole(0, contexts=self.contexts, descriptions=self.descriptions)
        checks.within(0.0, 1.0, least=self.least)
        checks.within(self.least, 1.0, most=self.most)
        if not self.scales:
            raise InvalidInput("scales must name the choices there are, got none")
        for common, personal in self.scales:
            checks.positive(common=common)
            if personal != math.inf:
                checks.positive(personal=personal)
        checks.positive(description_noise=self.description_noise, earnings_scale=self.earnings_scale)
        if self.holdout_scale is not None:
            checks.positive(holdout_scale=self.holdout_scale)
        if not isinstance(self.live, bool):
            raise InvalidInput(f"live must be True or False, got {checks.shown(self.live)}")

    @property
    def earned_scales(self) -> tuple[float, float]:
        """Of what the holdout earned, and the others."""
        return self.earnings_scale if self.holdout_scale is None else self.holdout_scale, self.earnings_scale


@dataclass(frozen=True, kw_only=True, slots=True)
class AggregatedBatches(LaplaceBatches):
    """LaplaceBatches, as one of two aggregators releases it: each adds all of this noise to its own total.

    Every number is sent in two shares that add up to it modulo 2^64, the first uniform, one to each aggregator. Seen
    are one aggregator's shares, and the other's totals with its noise.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ShuffledBits:
    """Of every record one bit, kept with probability `keep` and turned over otherwise, with others' in an order that a
    shuffler has drawn: batch after batch, each record in one of them. All of it is stated at `delta`.

    Which of two sides of a batch a record is on, and how many are on it, do not depend on the record; nor does which
    bit is asked for, which is drawn by the device and sent with it. A side has one pair of `steps`, (among, keep), and
    where it has fewer reports than `among`, the shuffler adds fair bits up to that.
    """

    steps: tuple[tuple[int, float], ...]
    delta: float

    def __post_init__(self) -> None:
        if not self.steps:
            raise InvalidInput("steps must have a pair of among and keep, got none")
        for among, keep in self.steps:
            checks.whole(1, among=among)
            checks.probability(keep=keep)
            checks.within(0.5, 1.0, keep=keep)
        checks.probability(delta=self.delta)


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlierFit:
    """A private fit of a log that prices start from, released before the first customer, who may be in the log too.

    Neighbours replace a record and, in the log, what belongs to the same customer: one row, or all rows of a person
    where `whole_person` is true. The fit is (epsilon, delta)-private to that, by its own certificate; `fit` is the
    SHA-256 of its content. Where `mu` is given it is mu-GDP, with `numbers` of its noise drawn on a grid that
    docs/proofs/discrete_noise.md covers, and that says no less than (epsilon, delta).
    """

    fit: str
    epsilon: float
    delta: float
    mu: float | None = None
    numbers: int = 0
    whole_person: bool = False

    def __post_init__(self) -> None:
        checks.non_negative(epsilon=self.epsilon)
        checks.within(0.0, 1.0, delta=self.delta)
        checks.whole(0, numbers=self.numbers)
        if self.mu is not None:
            checks.non_negative(mu=self.mu)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogSums:
    """A sum over the rows of a log, published once.

    A record is all that one person has in the log: at most `rows` rows. Each row adds `entries` numbers, none below 0,
    a vector of length at most 1; every entry of the sum gets N(0, noise^2). `live` noise is on the grid of `grid_of`,
    and so is what it is added to.
    """

    rows: int
    entries: int
    noise: float
    live: bool = False

    def __post_init__(self) -> None:
        checks.whole(1, rows=self.rows, entries=self.entries)
        checks.positive(noise=self.noise)
        if not isinstance(self.live, bool):
            raise InvalidInput(f"live must be True or False, got {checks.shown(self.live)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class LaplaceSums:
    """Sums of numbers in [0, 1], a record in at most `levels` of them, each sum released once plus Laplace noise.

    A node of a binary tree is such a sum. Which sums a record is in follows from slot numbers and earlier releases. The
    noise has density e^(-|z|/scale) / (2 scale). `live` noise is on the grid of `grid_of`.
    """

    levels: int
    scale: float
    live: bool = False

    def __post_init__(self) -> None:
        checks.whole(1, levels=self.levels)
        checks.positive(scale=self.scale)
        if not isinstance(self.live, bool):
            raise InvalidInput(f"live must be True or False, got {checks.shown(self.live)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BitReports:
    """Of every record one bit, kept with probability `keep` and turned over otherwise; nothing else leaves a device."""

    keep: float

    def __post_init__(self) -> None:
        checks.probability(keep=self.keep)
        checks.within(0.5, 1.0, keep=self.keep)


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectionReports:
    """Of every record one direction: a vector g in the unit ball becomes +-g/||g||, + with (1 + ||g||)/2, and then a
    uniform point of the half-sphere around it with probability `keep`, of the opposite half-sphere otherwise.
    """

    dimension: int
    keep: float

    def __post_init__(self) -> None:
        checks.whole(1, dimension=self.dimension)
        checks.probability(keep=self.keep)
        checks.within(0.5, 1.0, keep=self.keep)


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianSums:
    """Sums of vectors of length at most 1, a record in at most `rounds` of them, with N(0, noise^2) in every entry.

    Vectors of two records differ by at most `apart`. Which sums a record is in, and what its vector is made of, follows
    from slot numbers and earlier releases. A sum of one record is what a device sends. `live` noise is on the grid of
    `grid_of`, and then sums have at most `entries` numbers.
    """

    rounds: int
    noise: float
    apart: float = 2.0
    entries: int = 0  # 0: any number of them, which ideal noise does not depend on
    live: bool = False

    def __post_init__(self) -> None:
        checks.whole(1, rounds=self.rounds)
        checks.positive(noise=self.noise)
        checks.within(1.0, 2.0, apart=self.apart)
        if not isinstance(self.live, bool):
            raise InvalidInput(f"live must be True or False, got {checks.shown(self.live)}")
        checks.whole(1 if self.live else 0, entries=self.entries)


@dataclass(frozen=True, slots=True)
class NotPrivate:
    """A release without noise: no finite epsilon covers it."""


Event = (
    CovarianceStream
    | PerturbedEstimate
    | Batches
    | MomentBatches
    | LaplaceBatches
    | AggregatedBatches
    | ShuffledBits
    | RowCounts
    | LogFit
    | LogSums
    | EarlierFit
    | LaplaceSums
    | BitReports
    | DirectionReports
    | GaussianSums
    | NotPrivate
)


def grid_of(noise: float) -> float:
    """The grid of live noise: fine enough that discreteness costs nothing one would notice.

    >>> grid_of(1.0) == 2.0**-32 and grid_of(1.9) == 2.0**-32
    True
    """
    checks.positive(noise=noise)
    return math.ldexp(1.0, math.frexp(noise)[1] - 1 - FINENESS)


def _check_grid(grid: float, **noise: float) -> None:
    """0, or what `grid_of` says: a coarser one is not covered by the proof, a finer one does not fit into floats."""
    ((name, value),) = noise.items()
    if grid not in (0.0, grid_of(value)):
        raise InvalidInput(f"grid must be 0 or {grid_of(value)!r} for {name} {value!r}, got {checks.shown(grid)}")
