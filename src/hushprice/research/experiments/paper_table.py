"""What the paper's three tables share: printed numbers to compare with, and a picture of ours beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hushprice.research.experiments.experiment import Experiment
from hushprice.research.experiments.reasons import common_reason
from hushprice.research.experiments.rows import ReproducedEntry

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PaperTable(Experiment):
    """A table: one picture with the paper's numbers and ours."""

    def reason(self, row: ReproducedEntry) -> str:
        return common_reason(row)

    def figures(self, rows: Sequence[ReproducedEntry]) -> Mapping[str, Figure]:
        from hushprice.research.experiments.pictures import beside_the_paper

        return {self.name: beside_the_paper(self, rows)}
