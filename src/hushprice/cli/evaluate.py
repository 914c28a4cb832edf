"""hushprice evaluate: what other prices would have earned, by a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options

Log = Annotated[
    str, typer.Argument(metavar="LOG", help="A .csv or .parquet file, a folder of them, or a table's address.")
]
ProductFile = Annotated[
    Path, typer.Option("--product", metavar="FILE", help="The product's TOML file; its [log] names columns.")
]
LogEpsilon = Annotated[
    float | None,
    typer.Option(
        parser=options.number, metavar="E", help="Release the answer with noise. Without it: exact, for you alone."
    ),
]
LogDelta = Annotated[float, typer.Option(parser=options.number, metavar="D", help="The release's delta.")]
RowsPerCustomer = Annotated[
    int, typer.Option(parser=options.count, metavar="N", help="In a release: rows of one customer that count.")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip and count rows that cannot be read.")]


def evaluate(
    log: Log,
    *,
    product: ProductFile,
    policy: Annotated[
        str, typer.Option(metavar="WHAT", help="A fit.json, a product.toml, a price, or today (today's price).")
    ] = "today",
    propensity: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="What column propensity holds: auto, probability, density; or estimate, to ignore it."
        ),
    ] = "auto",
    bandwidth: Annotated[
        float | None, typer.Option(parser=options.number, metavar="H", help="Of the kernel, in currency.")
    ] = None,
    level: Annotated[float, typer.Option(parser=options.number, metavar="L", help="Of the intervals.")] = 0.95,
    epsilon: LogEpsilon = None,
    delta: LogDelta = 1e-6,
    prices: Annotated[
        str | None,
        typer.Option(metavar="P,P,...", help="In a release: the few prices there were."),
    ] = None,
    randomized: Annotated[
        bool, typer.Option("--randomized", help="In a release: prices were drawn without a look at the customer.")
    ] = False,
    most_weight: Annotated[
        float, typer.Option(parser=options.number, metavar="W", help="In a release: larger weights are cut.")
    ] = 20.0,
    rows_per_customer: RowsPerCustomer = 1,
    skip_bad: SkipBad = False,
    format: options.Printed = options.Format.table,
) -> None:
    """Say what a policy's prices would have earned a visit, by a log of other prices, and whether the log can tell.

    Examples:

    \b
      hushprice evaluate visits.parquet --product product.toml --policy fit.json
      hushprice evaluate visits.csv --product product.toml --policy 22.5 --propensity estimate
      hushprice evaluate visits.csv --product product.toml --epsilon 1 --prices 20,25,30 --randomized
    """
    from hushprice.cli import show, show_log_answers
    from hushprice.logs.questions import evaluate as ask

    named = options.numbers(prices) if prices else ()
    with show.progress("reading the log", rated=False) as advance:
        answer = ask(
            log, product=product, policy=policy, propensity=propensity, bandwidth=bandwidth, level=level,
            epsilon=epsilon, delta=delta, prices=named, randomized=randomized, most_weight=most_weight,
            rows_per_customer=rows_per_customer, on_bad="skip" if skip_bad else "refuse",
            progress=advance,
        )  # fmt: skip
    if format is options.Format.json:
        show.json(show_log_answers.plain(answer))
    else:
        show_log_answers.values(answer)
