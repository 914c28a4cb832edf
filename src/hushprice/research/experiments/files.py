"""What an experiment leaves in its folder: the table, the data, the pictures."""

from __future__ import annotations

from pathlib import Path

from hushprice.research.experiments.rows import frame
from hushprice.research.experiments.run import MeasuredExperiment
from hushprice.research.experiments.tables import cell_by_cell, in_the_papers_shape, notes
from hushprice.simulation.atomic_file import whole_file, write_figure, write_parquet


def write_outcome(outcome: MeasuredExperiment, folder: Path) -> list[Path]:
    """The files of one experiment: NAME.md, NAME.parquet, and every picture as SVG and PNG."""
    experiment, rows = outcome.experiment, outcome.rows
    files = [folder / f"{experiment.name}.md", folder / f"{experiment.name}.parquet"]
    write_text(page(outcome), files[0])
    write_parquet(frame(experiment, rows), files[1])
    for name, figure in experiment.figures(rows).items():
        for ending in ("svg", "png"):
            files.append(folder / f"{name}.{ending}")
            write_figure(figure, files[-1])
    return files


def page(outcome: MeasuredExperiment) -> str:
    """The tables of one experiment as Markdown."""
    experiment, rows = outcome.experiment, outcome.rows
    parts = [f"# {experiment.label}: {experiment.title}\n", f"{experiment.about}\n"]
    parts += [*(f"- {line}" for line in experiment.findings(rows)), ""]
    parts += [f"In {experiment.measured}.\n", in_the_papers_shape(experiment, rows).markdown()]
    compared = cell_by_cell(experiment, rows)
    if compared is not None:
        parts += ["## Cell by cell\n", compared.markdown()]
    parts += [f"{note}\n" for note in notes(experiment, rows)]
    return "\n".join(parts)


def write_text(text: str, path: Path) -> None:
    """Write a text file, in one piece or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
