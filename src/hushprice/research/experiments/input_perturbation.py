"""tab:input-perturbation: the paper's algorithm against noise on every customer's attributes."""

from __future__ import annotations

from collections.abc import Sequence

from hushprice.research.experiments import paper_numbers
from hushprice.research.experiments.experiment import (
    ANY,
    PRIVATE,
    PUBLISHED,
    SHRINK,
    YARDSTICKS,
    Contender,
    PaperEntry,
    PaperSetting,
    PrintedNumber,
    shown_horizon,
)
from hushprice.research.experiments.findings import beats_the_best_fixed_price, match_count
from hushprice.research.experiments.paper_numbers import printed
from hushprice.research.experiments.paper_table import PaperTable
from hushprice.research.experiments.reasons import common_reason
from hushprice.research.experiments.rows import ReproducedEntry

DIMENSION = 2
AT_EPSILON = Contender(name="input perturbation", policy="input-perturbation")
AT_TWICE = Contender(name="input perturbation, 2ε", policy="input-perturbation")

_NO_LAW = (
    "The paper gives no noise law for input perturbation. Ours is x + Laplace(2(d-1)/epsilon), unclipped, then the "
    "non-private algorithm (R49). The paper's 393 is exactly the regret of always asking p = 1 (R50): its run was "
    "stuck there, ours is not. Reported, not tuned; protects x alone, so NOT PRIVATE either way."
)


class InputPerturbation(PaperTable):
    label = "tab:input-perturbation"
    title = "Noise on the releases against noise on every customer's attributes"
    about = (
        "d = 2, delta_1 = delta_2 = 1/T^2. Input perturbation has one release a customer: a line with the column's "
        "epsilon, and one with 2 epsilon, the total that the algorithm of the paper claims in that column."
    )

    def entries(self, *, quick: bool) -> list[PaperEntry]:
        entries = []
        for full, numbers in paper_numbers.INPUT_ALGORITHM.items():
            horizon = full // SHRINK if quick else full
            group = f"{shown_horizon(horizon)}, d = {DIMENSION}"
            for contender in (*PRIVATE, AT_EPSILON, AT_TWICE):
                texts = {AT_EPSILON: paper_numbers.INPUT_PERTURBATION[full], AT_TWICE: (None,) * 3}.get(
                    contender, numbers
                )
                for epsilon, text in zip(paper_numbers.INPUT_EPSILONS, texts, strict=True):
                    share = epsilon / 2 if contender == AT_EPSILON else epsilon  # of each of two releases
                    setting = PaperSetting.even(horizon, DIMENSION, share)
                    paper: PrintedNumber | None = None if quick or text is None else printed(text)
                    column = f"ε = {epsilon:g}"
                    entries.append(
                        PaperEntry(setting=setting, contender=contender, group=group, column=column, paper=paper)
                    )
            setting = PaperSetting(horizon=horizon, dimension=DIMENSION)
            for contender in YARDSTICKS:
                entries.append(PaperEntry(setting=setting, contender=contender, group=group, column=ANY))
        return entries

    def reason(self, row: ReproducedEntry) -> str:
        return _NO_LAW if row.entry.contender == AT_EPSILON else common_reason(row)

    def findings(self, rows: Sequence[ReproducedEntry]) -> list[str]:
        lines = [*match_count(rows, PUBLISHED, ""), *match_count(rows, AT_EPSILON, "")]
        for contender in PRIVATE:
            own = [row for row in rows if row.entry.contender == contender]
            noisy = [row for row in rows if row.entry.contender == AT_TWICE]
            wins = sum(one.mean < other.mean for one, other in zip(own, noisy, strict=True))
            lines.append(
                f"{contender.name}: loses less than input perturbation of the same total epsilon in {wins} of "
                f"{len(own)} cells."
            )
        return [*lines, *beats_the_best_fixed_price(rows)]
