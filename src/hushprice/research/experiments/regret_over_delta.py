"""fig:regret-vdelta: average regret against delta = T^-1, ..., T^-10."""

from __future__ import annotations

import itertools

from hushprice.research.experiments.experiment import (
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

POWERS = tuple(range(1, 11))
HORIZONS = (2 * 10**5, 5 * 10**5, 10**6)
EPSILONS = (0.2, 0.5, 1.0)
ANY_DELTA = "any δ"


class RegretOverDelta(PaperFigure):
    label = "fig:regret-vdelta"
    title = "Regret grows as delta shrinks"
    about = (
        "Average regret for delta_1 = delta_2 = 1/T, 1/T^2, ..., 1/T^10 (as small as 1e-60), T = 2e5, 5e5, 1e6 and "
        "epsilon_1 = epsilon_2 = 0.2, 0.5, 1. Horizons and epsilon are our reading."
    )
    across = "k, where δ = 1/T^k"
    along = "from delta = 1/T to 1/T^10"

    def entries(self, *, quick: bool) -> list[PaperEntry]:
        entries = []
        for dimension in DIMENSIONS:
            group = f"d = {dimension}"
            horizons = scaled(HORIZONS, quick=quick)
            lines = itertools.product(PRIVATE, horizons, thinned(EPSILONS, quick=quick))
            for (contender, horizon, epsilon), power in itertools.product(lines, thinned(POWERS, quick=quick)):
                setting = PaperSetting.even(horizon, dimension, epsilon, power=int(power))
                entries.append(
                    PaperEntry(
                        setting=setting,
                        contender=contender,
                        group=group,
                        series=f"{shown_horizon(horizon)}, ε = {epsilon:g}",
                        column=f"δ = T^-{power:g}",
                    )
                )
            for contender, horizon in itertools.product(YARDSTICKS, horizons):
                setting = PaperSetting(horizon=horizon, dimension=dimension)
                series = shown_horizon(horizon)
                entries.append(
                    PaperEntry(setting=setting, contender=contender, group=group, series=series, column=ANY_DELTA)
                )
        return entries

    def x(self, row: ReproducedEntry) -> float:
        return float(row.entry.setting.power)
