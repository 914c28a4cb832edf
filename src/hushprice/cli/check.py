"""hushprice check: does a fit describe a log? Without a log: does a store hold together?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options
from hushprice.cli import store as stores
from hushprice.cli.evaluate import LogDelta, LogEpsilon, RowsPerCustomer, SkipBad
from hushprice.cli.serve import Config, Store


def check(
    log: Annotated[
        str | None, typer.Argument(metavar="LOG", help="A log, as of `hushprice evaluate`.", show_default=False)
    ] = None,
    fit: Annotated[
        Path | None, typer.Argument(metavar="FIT", help="What `hushprice fit` wrote.", show_default=False)
    ] = None,
    *,
    product: Annotated[
        Path | None, typer.Option("--product", metavar="FILE", help="The log's product, a TOML file.")
    ] = None,
    epsilon: LogEpsilon = None,
    delta: LogDelta = 1e-6,
    rows_per_customer: RowsPerCustomer = 1,
    skip_bad: SkipBad = False,
    format: options.Printed = options.Format.table,
    where: Store = None,
    config: Config = None,
) -> None:
    """Hold a fit against a log: calibration, price response by segment, a richer model. Or read a whole store.

    Without a LOG it is `hushprice store check`: exit code 1 if something in the store does not fit together.

    Examples:

    \b
      hushprice check visits.parquet fit.json --product product.toml
      hushprice check visits.parquet fit.json --product product.toml --epsilon 0.5
      hushprice check --store shop.db
    """
    from hushprice.errors import InvalidInput

    if log is None:
        if product is not None:
            raise InvalidInput("a fit is checked against a log; LOG is missing")
        stores.check(where=where, config=config)
        return
    if where is not None or config is not None:
        raise InvalidInput(f"either a store or a log is checked, got both, {log!r} and a store")
    if fit is None or product is None:
        raise InvalidInput(f"{'FIT' if fit is None else '--product'} is missing: a fit of a product is checked")
    from hushprice.cli import show, show_log_answers
    from hushprice.logs.questions import check_fit

    with show.progress("reading the log", rated=False) as advance:
        answer = check_fit(
            log, fit, product=product, epsilon=epsilon, delta=delta, rows_per_customer=rows_per_customer,
            on_bad="skip" if skip_bad else "refuse",
            progress=advance,
        )  # fmt: skip
    if format is options.Format.json:
        show.json(show_log_answers.plain(answer))
    else:
        show_log_answers.model(answer)
