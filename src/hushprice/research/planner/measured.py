"""What simulation found on the planner's own markets, thousands of trials a point (benchmarks/map.py), and in between.

Only inside the grid that was measured, and only for the setting that was measured: nothing here extrapolates.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources

import msgspec

from hushprice.privacy.delta import parse_delta

FILE = "measured.json"


@dataclass(frozen=True, kw_only=True)
class MeasuredSetting:
    """What every point has in common; the reference price is the policy's default."""

    map: str
    slope: float
    adjacency: str
    vectors: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class MeasuredPoint:
    """One setting, measured. Amounts are a customer; the error is a standard error for these markets."""

    dimension: int
    customers: int
    epsilon: float
    regret: float
    error: float
    one_price: float  # regret of the best single price
    beats: float  # share of the markets where the private policy's mean regret is the smaller one
    trials: int


@dataclass(frozen=True, kw_only=True)
class MeasuredMap:
    """The file, and what made it."""

    command: str
    device: str
    precision: str
    version: str
    delta: str  # of each number of customers T
    setting: MeasuredSetting
    points: list[MeasuredPoint]


@dataclass(frozen=True, kw_only=True)
class MapAnswer:
    """What the map says of one plan. Of the three about beating one price, one is not None."""

    regret: float
    error: float
    one_price: float
    trials: int  # of a point
    customers_to_beat_one_price: int | None
    fewer_than: int | None  # customers: already beaten where the map begins
    more_than: int | None  # not yet beaten where it ends
    points: list[MeasuredPoint]  # measured at this epsilon, or for as many customers


@functools.cache
def measured_map() -> MeasuredMap:
    """What was measured, from the file that comes with the package."""
    return msgspec.json.decode(resources.files(__package__).joinpath(FILE).read_bytes(), type=MeasuredMap)


def look_up(
    customers: int,
    dimension: int,
    epsilon: float,
    *,
    delta: float,
    setting: MeasuredSetting,
    source: MeasuredMap | None = None,
) -> MapAnswer | None:
    """Interpolated between the points around it; None where the map does not reach, or speaks of something else."""
    map = source if source is not None else measured_map()
    if setting != map.setting or delta != parse_delta(map.delta, customers):
        return None
    at = {(each.customers, each.epsilon): each for each in map.points if each.dimension == dimension}
    horizons, epsilons = (sorted({key[axis] for key in at}) for axis in (0, 1))
    if not at or not (horizons[0] <= customers <= horizons[-1] and epsilons[0] <= epsilon <= epsilons[-1]):
        return None

    def blend(value: Callable[[MeasuredPoint], float], number: float) -> float:
        rows, columns = _weights(horizons, number), _weights(epsilons, epsilon)
        return sum(s * t * value(at[int(row), column]) for row, s in rows for column, t in columns)

    def regret(number: float) -> float:
        return math.exp(blend(lambda point: math.log(point.regret), number))

    first = at[int(horizons[0]), epsilons[0]]
    middle = regret(customers)
    needed, fewer, more = _crossing([int(each) for each in horizons], regret, first.one_price)
    return MapAnswer(
        regret=middle,
        # Points share customers. Whatever they share, a mean is off by no more than the mean of what its parts are.
        error=middle * blend(lambda point: point.error / point.regret, customers),
        one_price=first.one_price,
        trials=first.trials,
        customers_to_beat_one_price=needed,
        fewer_than=fewer,
        more_than=more,
        points=[each for key, each in sorted(at.items()) if each.epsilon == epsilon or each.customers == customers],
    )


def _weights(grid: Sequence[float], value: float) -> list[tuple[float, float]]:
    """The neighbours in the grid, with their shares: linear in the logarithm. At a point, that point alone."""
    if value in grid:
        return [(value, 1.0)]
    above = next(each for each in grid if each > value)
    below = max(each for each in grid if each < value)
    share = math.log(value / below) / math.log(above / below)
    return [(below, 1.0 - share), (above, share)]


def _crossing(
    horizons: Sequence[int], regret: Callable[[float], float], mark: float
) -> tuple[int | None, int | None, int | None]:
    """Where regret falls to the mark: customers, or fewer than the least, or more than the most that were measured."""
    above = [regret(each) > mark for each in horizons]
    if not above[0]:
        return None, horizons[0], None
    if all(above):
        return None, None, horizons[-1]
    at = above.index(False)
    before, after = (math.log(regret(each)) for each in horizons[at - 1 : at + 1])
    share = (before - math.log(mark)) / (before - after)
    return math.ceil(horizons[at - 1] * (horizons[at] / horizons[at - 1]) ** share), None, None
