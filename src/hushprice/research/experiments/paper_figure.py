"""What the paper's four figures share: two panels, d = 2 and d = 3, and no printed numbers to compare with."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hushprice.research.experiments.experiment import PRIVATE, Experiment
from hushprice.research.experiments.findings import beats_random, beats_the_best_fixed_price
from hushprice.research.experiments.reasons import common_reason
from hushprice.research.experiments.rows import ReproducedEntry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIMENSIONS = (2, 3)
MILLION = tuple(step * 10**5 for step in range(1, 11))  # T = 1e5, 2e5, ..., 1e6


class PaperFigure(Experiment):
    """A figure: for every private policy one picture of the paper's shape."""

    across: str  # what the horizontal axis shows
    along = ""  # in which direction regret should fall
    logarithmic = True

    def findings(self, rows: Sequence[ReproducedEntry]) -> list[str]:
        return [*falling_lines(rows, self.along), *beats_random(rows), *beats_the_best_fixed_price(rows)]

    def reason(self, row: ReproducedEntry) -> str:
        return common_reason(row)

    @abstractmethod
    def x(self, row: ReproducedEntry) -> float:
        """Where a row stands on the horizontal axis."""

    def figures(self, rows: Sequence[ReproducedEntry]) -> Mapping[str, Figure]:
        from hushprice.research.experiments.pictures import two_panels

        return {f"{self.name}-{contender.name}": two_panels(self, rows, contender) for contender in PRIVATE}


def falling_lines(rows: Sequence[ReproducedEntry], along: str) -> list[str]:
    """For each private policy, how many lines end lower than they began."""
    lines = []
    for contender in PRIVATE:
        means: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            if row.entry.contender == contender:
                means.setdefault((row.entry.group, row.entry.line), []).append(row.mean)
        down = sum(line[-1] < line[0] for line in means.values())
        lines.append(f"{contender.name}: {down} of {len(means)} lines end lower than they begin, {along}.")
    return lines
