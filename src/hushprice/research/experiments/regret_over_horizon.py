"""fig:regret-main: average regret against the horizon, for several epsilon; random prices as a dashed line."""

from __future__ import annotations

from hushprice.research.experiments.experiment import (
    PRIVATE,
    YARDSTICKS,
    PaperEntry,
    PaperSetting,
    scaled,
    shown_horizon,
    thinned,
)
from hushprice.research.experiments.paper_figure import DIMENSIONS, MILLION, PaperFigure
from hushprice.research.experiments.rows import ReproducedEntry

EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class RegretOverHorizon(PaperFigure):
    label = "fig:regret-main"
    title = "Regret falls with the horizon and with epsilon"
    about = (
        "Average regret for T = 1e5, 2e5, ..., 1e6, epsilon_1 = epsilon_2 = epsilon, delta_1 = delta_2 = 1/T^2. The "
        "grid of epsilon is our reading: the image is not in the text we work from. The paper says that epsilon = 0.02 "
        "is 'much smaller' than random; its own tab:diffeps has 0.0247 there at T = 1e5, d = 2, random prices "
        "0.0251 (R45)."
    )
    across = "T (x 1e5)"
    along = "from the shortest to the longest horizon"

    def entries(self, *, quick: bool) -> list[PaperEntry]:
        entries = []
        for dimension in DIMENSIONS:
            group = f"d = {dimension}"
            horizons = scaled(MILLION, quick=quick)
            for contender in PRIVATE:
                for epsilon in thinned(EPSILONS, quick=quick):
                    for horizon in horizons:
                        setting = PaperSetting.even(horizon, dimension, epsilon)
                        entries.append(
                            PaperEntry(
                                setting=setting,
                                contender=contender,
                                group=group,
                                series=f"ε = {epsilon:g}",
                                column=shown_horizon(horizon),
                            )
                        )
            for contender in YARDSTICKS:
                for horizon in horizons:
                    setting = PaperSetting(horizon=horizon, dimension=dimension)
                    column = shown_horizon(horizon)
                    entries.append(PaperEntry(setting=setting, contender=contender, group=group, column=column))
        return entries

    def x(self, row: ReproducedEntry) -> float:
        return row.entry.setting.horizon / 1e5
