"""hushprice fit: a private fit of a log, in a file that a product can start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options


def fit(
    log: Annotated[str, typer.Argument(metavar="LOG", help="A table: .csv, .parquet, a folder, or an address.")],
    *,
    product: Annotated[Path, typer.Option(metavar="FILE.toml", help="The product, and which column is which.")],
    output: Annotated[Path, typer.Option(metavar="FILE.json", help="The fit, a new file.")],
    epsilon: Annotated[
        float | None, typer.Option(metavar="E", help="Privacy budget.  [default: the product's]", parser=options.number)
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="A number, or 2/T^2 of T rows.  [default: the product's]")
    ] = None,
    rows_per_customer: Annotated[
        int, typer.Option(metavar="M", help="Rows of a customer that count, at most.", parser=options.count)
    ] = 64,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip and count rows that cannot be read.")] = False,
    executor: Annotated[str, typer.Option(metavar="WHERE", help="serial, processes or ray.")] = "serial",
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes, where there are several.", parser=options.count)
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Fit a product's model of demand to a log, privately, with standard errors that count the noise.

    Where the log has a customer column, all rows of a customer are protected together. A fit that was interrupted goes
    on when called again: releases that are out are kept, and none is drawn twice.

    Examples:

    \b
      hushprice fit visits.csv --product product.toml --epsilon 1 --output fit.json
      hushprice certificate --fit fit.json --key shop.key --output fit-certificate.json
    """
    from hushprice.cli import show
    from hushprice.errors import Interrupted
    from hushprice.logs.fit.run_fit import fit as run
    from hushprice.logs.read import REFUSE, SKIP, open_log

    opened = open_log(log, product=product, on_bad=SKIP if skip_bad else REFUSE)
    try:
        with show.progress("reading the log", rated=False) as advance:
            found = run(
                opened,
                product=opened.product,
                epsilon=epsilon,
                delta=delta,
                rows_per_customer=rows_per_customer,
                output=output,
                progress=advance,
                executor=executor,
                workers=workers,
            )
    except KeyboardInterrupt:
        part = output.with_name(f"{output.name}.part")
        kept = (
            f"what was released is kept in '{part}'; run it again to go on" if part.exists() else "nothing was released"
        )
        raise Interrupted(f"interrupted; {kept}") from None
    if opened.counts.rows:  # none where all releases were kept by an earlier call
        for line in opened.counts.lines():
            typer.echo(line, err=True)
    if format is options.Format.json:
        show.json(found.to_dict())
        return
    whose = "one row" if found.unit == "row" else f"a customer, {found.rows_per_customer} rows at most"
    typer.echo(f"wrote {output}: proven epsilon {found.proven.epsilon:.4g} at delta {found.proven.delta:.2g}, {whose}")
    errors = found.standard_errors
    for name, value in found.coefficients.items():
        typer.echo(f"{name:<32} {value:10.4f} +- {errors[name]:.4f}")
