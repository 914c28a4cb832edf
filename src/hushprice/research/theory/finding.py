"""What a check is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from hushprice import checks

FindingValue = str | int | float | None
FindingRow = dict[str, FindingValue]
_Choice = TypeVar("_Choice")


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckSize:
    """How much work a check may do, and from which seed. Timings apart, a finding depends on this alone."""

    quick: bool = False
    seed: int = 0
    workers: int | None = None
    device: str = "cpu"  # of the runs of runs.py and regret_bounds.py; the others look at prices or at time
    precision: str = "double"

    def __post_init__(self) -> None:
        checks.whole(0, seed=self.seed)
        checks.within(0, 2**31, seed=self.seed)
        if self.workers is not None:
            checks.whole(1, workers=self.workers)

    def pick(self, quick: _Choice, full: _Choice) -> _Choice:
        """The first when there is little time, else the second."""
        return quick if self.quick else full


@dataclass(frozen=True, kw_only=True, slots=True)
class GrowthCurve:
    """One line of a growth picture, on logarithmic axes, with the rate the paper states as a slope."""

    name: str
    axis: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...]
    rate: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TheoryFinding:
    """One statement of the paper beside what was measured."""

    label: str  # LaTeX label
    name: str  # as typed after `hushprice theory`
    statement: str  # what the paper proves or says
    quantity: str  # what `measured` and `bound` are numbers of
    measured: float
    bound: float
    holds: bool | None  # None: the data decide neither way
    vacuous: bool  # at practical sizes the bound says no more than was known without it
    false_alarm: float | None  # largest chance that a true statement is reported as broken; None: no bound known
    explanation: str  # one line, plain words
    rows: tuple[FindingRow, ...]
    curves: tuple[GrowthCurve, ...] = ()

    @property
    def verdict(self) -> str:
        """Whether the statement holds, in one or two words for a table."""
        word = {True: "holds", False: "FALSE", None: "undecided"}[self.holds]
        return f"{word}, vacuous" if self.vacuous else word

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice theory --format json`."""
        return {
            "name": self.name,
            "label": self.label,
            "statement": self.statement,
            "quantity": self.quantity,
            "measured": self.measured,
            "bound": self.bound,
            "holds": self.holds,
            "vacuous": self.vacuous,
            "false_alarm": self.false_alarm,
            "explanation": self.explanation,
            "rows": list(self.rows),
        }
