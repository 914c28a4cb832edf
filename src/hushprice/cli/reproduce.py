"""hushprice reproduce: the paper's tables and figures, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options


def reproduce(
    name: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="fig:regret-main, fig:regret-veps, fig:regret-vdelta, tab:non-private, tab:diffeps, "
            "tab:input-perturbation, fig:surplus; also without fig: or tab:. Or all.",
            show_default=False,
        ),
    ],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Everything small: horizons a hundredth as long, thin grids, 4 trials.")
    ] = False,
    trials: Annotated[
        int | None,
        typer.Option(parser=options.count, metavar="N", help="Trials of every cell.  [default: 20, or 4 with --quick]"),
    ] = None,
    seed: options.Seed = 0,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Tables, pictures, data and finished trials go there.")
    ] = Path("reproduction"),
    executor: options.Executor = "local",
    address: options.Address = None,
    workers: options.Workers = None,
    device: options.Device = "cpu",
    precision: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="On a GPU: single, or double.  [default: single, equal in distribution]"),
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Run tables and figures of the paper again: its numbers beside ours, with standard errors.

    Each leaves a table, a Parquet file, and pictures as SVG and PNG in the output folder (with --quick, in its
    subfolder quick). all also writes report.html. Stopped and run again, only what is missing is done.

    Examples:

    \b
      hushprice reproduce tab:non-private
      hushprice reproduce all --quick --output small
    """
    from hushprice.cli.run_reproduce import run_reproduce

    chosen = precision or ("double" if device == "cpu" else "single")  # means and their errors are all that is shown
    run_reproduce(
        name,
        quick=quick,
        trials=trials,
        seed=seed,
        output=output,
        where={"name": executor, "address": address, "workers": workers, "device": device, "precision": chosen},
        as_json=format is options.Format.json,
    )
