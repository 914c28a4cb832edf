"""Results for people (a table) and for machines (JSON), and progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from hushprice.research.experiments.tables import TextTable
    from hushprice.simulation.result import Mean, SimulationResult


Advance = Callable[[int, int], None]


@contextmanager
def progress(doing: str = "simulating", *, rated: bool = True) -> Iterator[Advance]:
    """A bar with time left and, where `rated`, periods/s, on stderr and only for a person."""
    with progress_and_lines(doing, rated=rated) as (advance, _):
        yield advance


@contextmanager
def progress_and_lines(
    doing: str = "simulating", *, rated: bool = True
) -> Iterator[tuple[Advance, Callable[[str], None]]]:
    """The bar, and a way to print lines above it; where nobody watches, the lines alone."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[rate]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("compiling, or reading compiled code", total=None, rate="")

        def advance(done: int, whole: int) -> None:
            if done > 0:
                speed = bar.tasks[0].speed
                rate = f"{speed / 1e6:.1f} M periods/s" if rated and speed is not None else ""
                bar.update(task, description=doing, completed=done, total=whole, rate=rate)

        yield advance, lambda text: console.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)


@contextmanager
def interruptible(folder: Path) -> Iterator[None]:
    """Inside, Ctrl-C ends the work with a line that says in which folder finished trials are."""
    from hushprice.errors import Interrupted

    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; finished trials are kept in {str(folder)!r}; run it again to go on") from None


def note(text: str) -> None:
    """One line on stderr, for a person and for a log; nothing where there is nothing to say."""
    if text:
        sys.stderr.write(f"hushprice: {text}\n")


def json(value: Any) -> None:
    """Print one JSON value on stdout and nothing else."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def table(results: Sequence[SimulationResult], files: Sequence[Path] = ()) -> None:
    """Print the results for people, best policy first."""
    first = results[0]
    out = console()
    rows = [_cells(result) for result in sorted(results, key=lambda each: float(each.regret.mean()))]
    out.print(
        f"{first.market}: {first.horizon:,} customers, {first.trials} trials, seed {first.seed}\n", soft_wrap=True
    )
    _rows(out, rows)
    for line in ("", *_reading(results)):
        out.print(line, soft_wrap=True)
    seconds = sum(result.seconds for result in results)
    periods = sum(result.trials * result.horizon for result in results)
    where = "" if first.device == "cpu" else f", on a GPU in {first.precision} precision"
    rate = f"{periods / max(seconds, 1e-9) / 1e6:.1f} million periods/s"
    out.print(f"{seconds:.1f} s, {rate}{where}", soft_wrap=True)
    for file in files:
        out.print(f"wrote {file}", soft_wrap=True)


def sweep_table(
    rows: Sequence[dict[str, Any]], results: Sequence[SimulationResult], axes: Sequence[str], files: Sequence[Path]
) -> None:
    """One line a cell, in the grid's order, with those of the axes that differ between cells."""
    varied = [name for name in axes if len({row[name] for row in rows}) > 1]
    lines = []
    for row, result in zip(rows, results, strict=True):
        cells = _cells(result)
        values = {name: setting(row[name]) for name in varied}
        lines.append({"policy": cells["policy"], **values, **{name: cells[name] for name in _SWEPT}})
    out = console(width=200)
    out.print(f"{len(rows)} cells, {results[0].trials} trials each\n", soft_wrap=True)
    _rows(out, lines)
    out.print("")
    for file in files:
        out.print(f"wrote {file}", soft_wrap=True)


def text(line: str) -> None:
    """Print words on stdout, as they are."""
    console().print(line, soft_wrap=True)


def text_table(table: TextTable) -> None:
    """A table of texts at its full width; a line of one text is a heading inside it."""
    widths = [
        max(len(line[at]) for line in (table.headings, *table.lines) if len(line) > 1)
        for at in range(len(table.headings))
    ]
    for line in (table.headings, *table.lines):
        first, *others = zip(line, widths, strict=False)
        texts = [first[0].ljust(first[1]), *(each.rjust(size) for each, size in others)]
        text("  ".join(texts).rstrip())


def setting(value: Any) -> str:
    """A setting as tables show it."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def console(width: int = 118) -> Console:
    """Standard output: as wide as the terminal, or that wide where there is none."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else width, highlight=False, markup=False, emoji=False)


def columns(headings: Sequence[str], *, left: Collection[str]) -> RichTable:
    """An empty table without lines; columns are set right, but for those of `left`."""
    from rich.table import Table

    view = Table(box=None, padding=(0, 2, 0, 0))
    for name in headings:
        view.add_column(name, justify="left" if name in left else "right")
    return view


def _rows(out: Console, rows: Sequence[dict[str, str]]) -> None:
    headings = [name for name in rows[0] if out.width >= 100 or name not in _LEFT_OUT_WHEN_NARROW]
    view = columns(headings, left=("policy", "market", "privacy claimed"))
    for row in rows:
        view.add_row(*(row[name] for name in headings))
    out.print(view)


_SWEPT = ("regret x 1e4", "revenue", "surplus", "privacy claimed", "proven eps")
_LEFT_OUT_WHEN_NARROW = ("of best", "estimates", "proven eps")


def _cells(result: SimulationResult) -> dict[str, str]:
    """One row of the table, by heading."""
    revenue, surplus = float(result.revenue.mean()), result.average_surplus.mean
    best = revenue + float(result.regret.mean())
    return {
        "policy": result.label,
        "regret x 1e4": regret(result.average_regret),
        "revenue": f"{revenue:.4f}",
        "of best": f"{100 * revenue / best:.1f} %" if best > 0 else "-",
        "surplus": "-" if surplus is None else f"{surplus:.4f}",
        "estimates": f"{result.estimates.mean():.1f}",
        "privacy claimed": _privacy(result),
        "proven eps": _proven(result),
    }


def regret(value: Mean) -> str:
    shown = f"{1e4 * (value.mean or 0.0):.2f}"
    return shown if value.standard_error is None else f"{shown} +- {1e4 * value.standard_error:.2f}"


def _privacy(result: SimulationResult) -> str:
    if result.hindsight:
        return "none: a yardstick"  # quoting one price tells nothing, but finding this one took every customer
    if result.claimed is None:
        return "NOT PRIVATE"
    return f"eps {result.claimed.epsilon:g}, delta {result.claimed.delta:.2g}"


def _proven(result: SimulationResult) -> str:
    if result.hindsight or result.proven is None:
        return "-"
    return f"{result.proven.epsilon:.3g}"


def _reading(results: Sequence[SimulationResult]) -> list[str]:
    """Sentences about what a newcomer should see in the table."""
    lines = ["Regret: average revenue lost per customer against someone who knows demand exactly; lower is better."]
    yardstick = [each for each in results if each.hindsight]
    private = [each for each in results if each.claimed is not None and each.claimed.epsilon > 0.0]
    if yardstick and private:
        bar = yardstick[0].average_regret.mean or 0.0
        better = [each.label for each in private if (each.average_regret.mean or 0.0) < bar]
        names = ", ".join(better) or "none here"
        lines.append(f"Private policies that beat the best single price for everyone: {names}.")
    for each in results:
        if each.start_regret is not None:
            before = f"{regret(each.start_regret)} of its regret x 1e4 came before its first learned price"
            lines.append(f"{each.label}: {before}.")
    if private:
        lines.append(
            "Claimed was asked for; proven is what the accountant gets for the noise drawn, at the same delta."
        )
    return lines
