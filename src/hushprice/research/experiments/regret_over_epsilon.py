"""fig:regret-veps: average regret against epsilon, for three horizons."""

from __future__ import annotations

from hushprice.research.experiments.experiment import (
    ANY,
    PRIVATE,
    YARDSTICKS,
    PaperEntry,
    PaperSetting,
    scaled,
    shown_horizon,
    thinned,
)
from hushprice.research.experiments.paper_figure import DIMENSIONS, PaperFigure
from hushprice.research.experiments.rows import ReproducedEntry

EPSILONS = tuple(round(0.1 * step, 1) for step in range(1, 11))
HORIZONS = (10**5, 5 * 10**5, 10**6)


class RegretOverEpsilon(PaperFigure):
    label = "fig:regret-veps"
    title = "Regret falls as epsilon grows"
    about = (
        "Average regret for epsilon_1 = epsilon_2 = epsilon from 0.1 to 1 in steps of 0.1, delta_1 = delta_2 = 1/T^2. "
        "The steps and the three horizons are our reading (R46)."
    )
    across = "ε"
    along = "from the least to the largest epsilon"

    def entries(self, *, quick: bool) -> list[PaperEntry]:
        return over_epsilon(quick=quick)

    def x(self, row: ReproducedEntry) -> float:
        return row.entry.setting.epsilon_estimate


def over_epsilon(*, quick: bool) -> list[PaperEntry]:
    """The entries of fig:regret-veps, which fig:surplus has too."""
    entries = []
    for dimension in DIMENSIONS:
        group = f"d = {dimension}"
        for contender in PRIVATE:
            for horizon in scaled(HORIZONS, quick=quick):
                for epsilon in thinned(EPSILONS, quick=quick):
                    setting = PaperSetting.even(horizon, dimension, epsilon)
                    series, column = shown_horizon(horizon), f"ε = {epsilon:g}"
                    entries.append(
                        PaperEntry(setting=setting, contender=contender, group=group, series=series, column=column)
                    )
        for contender in YARDSTICKS:
            for horizon in scaled(HORIZONS, quick=quick):
                setting = PaperSetting(horizon=horizon, dimension=dimension)
                series = shown_horizon(horizon)
                entries.append(PaperEntry(setting=setting, contender=contender, group=group, series=series, column=ANY))
    return entries
