"""Every number a budget leads to, in the three calibrations side by side, with its formula and where that comes from.

Nothing is decided here: the rows read what calibration.py, events.py and accountant.py say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hushprice import checks
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput, first_line
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.report.quantities import QUANTITIES, Value
from hushprice.policies.paper.report.worked import work_out
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import PrivacyBudget

EPSILONS = (1e-5, 100.0)  # of one share; far beyond, searches for noise leave what floats can hold
LEAST_DELTA = 1e-200


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One quantity. A value is None where a calibration has no such thing."""

    group: str
    name: str
    symbol: str
    formula: str
    source: str  # the paper's label, or the file with the proof
    values: Mapping[str, Value]

    def ratio(self, calibration: str) -> float | None:
        """How many times the tight calibration's value this is; None where that says nothing."""
        value, tight = self.values[calibration], self.values["tight"]
        if isinstance(value, str) or isinstance(tight, str) or not value or not tight:
            return None
        return value / tight


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingReport:
    """The rows for one setting."""

    horizon: int
    dimension: int
    max_estimates: int
    ridge: float
    demand: str
    adjacency: Adjacency
    budget: PrivacyBudget
    rows: tuple[Row, ...]

    def value(self, symbol: str, calibration: str) -> Value:
        """One number by the symbol of its row."""
        (row,) = (row for row in self.rows if row.symbol == symbol)
        return row.values[calibration]

    def uncovered(self) -> tuple[str, ...]:
        """Calibrations whose noise proves less than they claim here; a pricer with one of them is refused."""
        return tuple(name for name in CALIBRATIONS if not float(self.value("share", name) or 0) <= 1.0)

    def odds(self) -> dict[str, str]:
        """The proven epsilon in plain words, by calibration."""
        said = {}
        for name in CALIBRATIONS:
            right, factor = float(self.value("right", name) or 0), float(self.value("factor", name) or 0)
            said[name] = (
                f"up to delta, whatever later prices show is at most {factor:.4g} times as likely with one record as "
                f"with another; a guess which of two it was is right at most {100 * right:.2f} % of the time"
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        plain = asdict(self)
        for row, each in zip(self.rows, plain["rows"], strict=True):
            each["ratios"] = {name: row.ratio(name) for name in CALIBRATIONS if name != "tight"}
        return {**plain, "adjacency": self.adjacency.value, "odds": self.odds(), "uncovered": self.uncovered()}


def report(
    budget: PrivacyBudget,
    *,
    horizon: int,
    dimension: int,
    max_estimates: int,
    ridge: float,
    demand: Demand,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
) -> SettingReport:
    """Everything the budget leads to for this horizon, dimension and demand."""
    for share in (budget.covariance, budget.estimates):
        checks.within(EPSILONS[0], EPSILONS[1], epsilon=share.epsilon)
        checks.within(LEAST_DELTA, 1.0, delta=share.delta)
    try:
        cases = {
            name: work_out(
                name,
                budget,
                horizon=horizon,
                dimension=dimension,
                max_estimates=max_estimates,
                ridge=ridge,
                demand=demand,
                adjacency=adjacency,
            )
            for name in CALIBRATIONS
        }
    except ArithmeticError as problem:  # a demand with constants near the ends of what is allowed
        raise InvalidInput(f"no noise can be found for {demand!r} and this budget: {first_line(problem)}") from None
    rows = (
        Row(
            group=each.group,
            name=each.name,
            symbol=each.symbol,
            formula=each.formula,
            source=each.source,
            values={name: each.of(case) for name, case in cases.items()},
        )
        for each in QUANTITIES
    )
    return SettingReport(
        horizon=horizon,
        dimension=dimension,
        max_estimates=max_estimates,
        ridge=ridge,
        demand=demand.name,
        adjacency=adjacency,
        budget=budget,
        rows=tuple(rows),
    )
