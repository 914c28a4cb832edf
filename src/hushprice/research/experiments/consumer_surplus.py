"""fig:surplus: average consumer surplus against epsilon, without privacy as dashed lines."""

from __future__ import annotations

from collections.abc import Sequence

from hushprice.research.experiments.experiment import NONPRIVATE, PRIVATE, PaperEntry
from hushprice.research.experiments.paper_figure import PaperFigure
from hushprice.research.experiments.regret_over_epsilon import over_epsilon
from hushprice.research.experiments.rows import ReproducedEntry


class ConsumerSurplus(PaperFigure):
    label = "fig:surplus"
    title = "What customers keep"
    about = (
        "Average of u over customers who buy (0 for the others), u = zeta phi'theta* + logistic noise, in the settings "
        "of fig:regret-veps. The paper prints phi = [x; p] there; the sign of p must be minus (R51)."
    )
    quantity = "average_surplus"
    unit = 1.0
    measured = "average consumer surplus"
    across = "ε"
    logarithmic = False

    def entries(self, *, quick: bool) -> list[PaperEntry]:
        return over_epsilon(quick=quick)

    def x(self, row: ReproducedEntry) -> float:
        return row.entry.setting.epsilon_estimate

    def findings(self, rows: Sequence[ReproducedEntry]) -> list[str]:
        """Whether surplus rises with epsilon, as the paper says, and on which side of the non-private policy it is."""
        without = {_line(row): row.mean for row in rows if row.entry.contender == NONPRIVATE}
        lines = []
        for contender in PRIVATE:
            own = [row for row in rows if row.entry.contender == contender]
            means: dict[tuple[int, int], list[float]] = {}
            for row in own:
                means.setdefault(_line(row), []).append(row.mean)
            up = sum(line[-1] > line[0] for line in means.values())
            above = sum(row.mean > without[_line(row)] for row in own)
            lines.append(
                f"{contender.name}: surplus is higher at the largest epsilon than at the least on {up} of {len(means)} "
                f"lines, and above that of the non-private policy in {above} of {len(own)} cells."
            )
        return lines


def _line(row: ReproducedEntry) -> tuple[int, int]:
    return row.entry.setting.horizon, row.entry.setting.dimension
