"""tab:diffeps: average regret when one of epsilon_1, epsilon_2 is held at 0.1 and the other varies."""

from __future__ import annotations

from collections.abc import Sequence

from hushprice.research.experiments import paper_numbers
from hushprice.research.experiments.experiment import (
    ANY,
    PRIVATE,
    PUBLISHED,
    SHRINK,
    YARDSTICKS,
    PaperEntry,
    PaperSetting,
    shown_horizon,
)
from hushprice.research.experiments.findings import beats_the_best_fixed_price, match_count
from hushprice.research.experiments.paper_numbers import printed
from hushprice.research.experiments.paper_table import PaperTable
from hushprice.research.experiments.rows import ReproducedEntry

HORIZON = 10**5
FIXED_EPSILON = 0.1


class UnevenEpsilons(PaperTable):
    label = "tab:diffeps"
    title = "Which epsilon matters: that of the covariance or that of the estimates"
    about = (
        "Average regret at T = 1e5 when epsilon_1 (covariance) or epsilon_2 (estimates) is fixed at 0.1. The cell "
        "(0.1, 0.1) stands in the paper three times: 0.0195 and 0.0196 here, 0.0201 in tab:non-private at d = 2; "
        "0.0147, 0.0144 and 0.0156 at d = 3 (R48). That is how far apart its own runs are."
    )

    def entries(self, *, quick: bool) -> list[PaperEntry]:
        horizon = HORIZON // SHRINK if quick else HORIZON
        entries = []
        for (dimension, fixed), numbers in paper_numbers.DIFFERENT.items():
            group = f"{shown_horizon(horizon)}, d = {dimension}, ε{fixed} = {FIXED_EPSILON:g}"
            for contender in PRIVATE:
                for epsilon, text in zip(paper_numbers.DIFFERENT_EPSILONS, numbers, strict=True):
                    setting = PaperSetting(
                        horizon=horizon,
                        dimension=dimension,
                        epsilon_covariance=FIXED_EPSILON if fixed == 1 else epsilon,
                        epsilon_estimate=epsilon if fixed == 1 else FIXED_EPSILON,
                    )
                    paper = None if quick else printed(text, unit=1.0)
                    column = f"ε = {epsilon:g}"
                    entries.append(
                        PaperEntry(setting=setting, contender=contender, group=group, column=column, paper=paper)
                    )
            for contender in YARDSTICKS:
                setting = PaperSetting(horizon=horizon, dimension=dimension)
                entries.append(PaperEntry(setting=setting, contender=contender, group=group, column=ANY))
        return entries

    def findings(self, rows: Sequence[ReproducedEntry]) -> list[str]:
        lines = match_count(rows, PUBLISHED, "")
        for contender in PRIVATE:
            for fixed, varied in ((1, 2), (2, 1)):
                own = [row for row in rows if row.entry.contender == contender and f"ε{fixed} = " in row.entry.group]
                falls = [_fall([row for row in own if row.entry.setting.dimension == d]) for d in (2, 3)]
                shown = " and ".join(f"{fall:+.0f} % (d = {d})" for d, fall in zip((2, 3), falls, strict=True))
                lines.append(
                    f"{contender.name}: from the least to the largest epsilon_{varied}, regret moves by {shown}."
                )
        return [*lines, *beats_the_best_fixed_price(rows)]


def _fall(rows: Sequence[ReproducedEntry]) -> float:
    return 100.0 * (rows[-1].mean / rows[0].mean - 1.0)
