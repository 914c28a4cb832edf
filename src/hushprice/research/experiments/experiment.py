"""An experiment: one table or figure of the paper as settings to run, with its printed numbers where it has any."""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushprice.research.sweeps.cell import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hushprice.research.experiments.rows import ReproducedEntry

SHRINK = 100  # a quick run's horizons are this many times shorter
ANY = "any ε"  # the column of policies that read no epsilon


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A policy as the tables name it."""

    name: str
    policy: str
    calibration: str = "tight"

    @property
    def reads_budget(self) -> bool:
        return self.policy not in ("nonprivate", "fixed", "random")


PUBLISHED = Contender(name="published", policy="paper", calibration="published")
PRINTED = Contender(name="printed", policy="paper", calibration="printed")
TIGHT = Contender(name="tight", policy="paper", calibration="tight")
NEWTON = Contender(name="noisy-newton", policy="noisy-newton")
NONPRIVATE = Contender(name="non-private", policy="nonprivate")
BEST_FIXED = Contender(name="best fixed price", policy="fixed")
RANDOM = Contender(name="random prices", policy="random")
YARDSTICKS = (NONPRIVATE, BEST_FIXED, RANDOM)


PRIVATE = (PUBLISHED, PRINTED, TIGHT, NEWTON)  # the paper's algorithm in its calibrations, and the default policy


@dataclass(frozen=True, kw_only=True)
class PaperSetting:
    """A place in the paper's grids: eps1, eps2, and delta1 = delta2 = T^-power."""

    horizon: int
    dimension: int
    epsilon_covariance: float = 1.0
    epsilon_estimate: float = 1.0
    power: int = 2

    @classmethod
    def even(cls, horizon: int, dimension: int, epsilon: float, power: int = 2) -> PaperSetting:
        """The setting with eps1 = eps2 = epsilon."""
        return cls(
            horizon=horizon,
            dimension=dimension,
            epsilon_covariance=epsilon,
            epsilon_estimate=epsilon,
            power=power,
        )


@dataclass(frozen=True, kw_only=True)
class PrintedNumber:
    """A number as the paper prints it, such as 74.6 in units of 1e-4."""

    text: str
    unit: float = 1.0

    @property
    def value(self) -> float:
        return float(self.text) * self.unit

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit."""
        return 0.5 * self.unit * 10.0 ** -len(self.text.partition(".")[2])


@dataclass(frozen=True, kw_only=True)
class PaperEntry:
    """One number to measure, and where it stands: block of the table (panel of the figure), line, column."""

    setting: PaperSetting
    contender: Contender
    group: str
    column: str
    series: str = ""
    paper: PrintedNumber | None = None

    @property
    def line(self) -> str:
        return f"{self.contender.name}, {self.series}" if self.series else self.contender.name

    def cell(self, seed: int) -> Cell:
        """What to run. A policy that reads no budget has one cell whatever the epsilon."""
        return _cell(self.setting, self.contender, seed)


@functools.cache  # a cell is prepared once, however many tables show it
def _cell(given: PaperSetting, contender: Contender, seed: int) -> Cell:
    if not contender.reads_budget:
        return Cell(policy=contender.policy, horizon=given.horizon, dimension=given.dimension, seed=seed)
    return Cell(
        policy=contender.policy,
        calibration=contender.calibration,
        horizon=given.horizon,
        dimension=given.dimension,
        epsilon_covariance=given.epsilon_covariance,
        epsilon_estimate=given.epsilon_estimate,
        delta=f"2/T^{given.power}",
        seed=seed,
    )


class Experiment(abc.ABC):
    """A table or figure of the paper, by its LaTeX label."""

    label: str
    title: str
    about: str  # what the paper shows there and how it is read here
    quantity: str = "average_regret"
    unit: float = 1e-4
    measured: str = "average regret (x 1e-4)"

    @property
    def name(self) -> str:
        """The label without its prefix."""
        return self.label.partition(":")[2]

    @abc.abstractmethod
    def entries(self, *, quick: bool) -> list[PaperEntry]:
        """Everything measured, in the order of the table."""

    @abc.abstractmethod
    def reason(self, row: ReproducedEntry) -> str:
        """Why a number may be more than four standard errors from the paper's: a rule, never a single number."""

    @abc.abstractmethod
    def figures(self, rows: Sequence[ReproducedEntry]) -> Mapping[str, Figure]:
        """Pictures by the name of their file."""

    @abc.abstractmethod
    def findings(self, rows: Sequence[ReproducedEntry]) -> list[str]:
        """What the numbers say, each a sentence computed from them."""


def scaled(horizons: Sequence[int], *, quick: bool) -> list[int]:
    """The paper's horizons, or first and last of them shortened."""
    return [horizon // SHRINK for horizon in dict.fromkeys((horizons[0], horizons[-1]))] if quick else list(horizons)


def thinned(values: Sequence[float], *, quick: bool) -> list[float]:
    """The paper's grid, or its ends."""
    return [values[0], values[-1]] if quick else list(values)


def shown_horizon(horizon: int) -> str:
    """A horizon as the paper writes it.

    >>> shown_horizon(10**5), shown_horizon(500000), shown_horizon(2000)
    ('T = 1e5', 'T = 5e5', 'T = 2e3')
    """
    mantissa, _, exponent = f"{horizon:.6e}".partition("e")
    return f"T = {float(mantissa):g}e{int(exponent)}"
