"""tab:non-private: average regret for five epsilon, and without privacy."""

from __future__ import annotations

from collections.abc import Sequence

from hushprice.research.experiments import paper_numbers
from hushprice.research.experiments.experiment import (
    ANY,
    NONPRIVATE,
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


class PriceOfPrivacy(PaperTable):
    label = "tab:non-private"
    title = "What privacy costs: regret by epsilon, and without privacy"
    about = (
        "Average regret at T = 1e5 and 1e6, d = 2 and 3, epsilon_1 = epsilon_2 = epsilon, delta_1 = delta_2 = 1/T^2. "
        "The claim is 2 epsilon in all."
    )

    def entries(self, *, quick: bool) -> list[PaperEntry]:
        entries = []
        for (full, dimension), numbers in paper_numbers.NON_PRIVATE.items():
            horizon = full // SHRINK if quick else full
            group = f"{shown_horizon(horizon)}, d = {dimension}"
            for contender in PRIVATE:
                for epsilon, text in zip(paper_numbers.NON_PRIVATE_EPSILONS, numbers, strict=False):
                    setting = PaperSetting.even(horizon, dimension, epsilon)
                    paper = None if quick else printed(text)
                    column = f"ε = {epsilon:g}"
                    entries.append(
                        PaperEntry(setting=setting, contender=contender, group=group, column=column, paper=paper)
                    )
            for contender in YARDSTICKS:
                paper = printed(numbers[-1]) if contender == NONPRIVATE and not quick else None
                setting = PaperSetting(horizon=horizon, dimension=dimension)
                entries.append(PaperEntry(setting=setting, contender=contender, group=group, column=ANY, paper=paper))
        return entries

    def findings(self, rows: Sequence[ReproducedEntry]) -> list[str]:
        small = [row for row in rows if row.entry.setting.epsilon_estimate <= 1.0]
        return [
            *match_count(small, PUBLISHED, "with epsilon at most 1"),
            *match_count(rows, PUBLISHED, "of all epsilon"),
            *match_count(rows, NONPRIVATE, "without privacy"),
            *beats_the_best_fixed_price(rows),
        ]
