"""hushprice compare: several policies side by side on one market, or ways of pricing and trust models in a shop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options


def compare(
    context: typer.Context,
    *,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A policy; repeat for more. paper@printed picks a calibration. The best fixed price is always shown.",
        ),
    ] = None,
    horizon: options.Horizon = 100_000,
    dimension: options.Dimension = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = "2/T^2",
    adjacency: options.Neighbours = "replace-one",
    trials: options.Trials = 20,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    exploration_periods: options.Exploration = None,
    ridge: options.Ridge = None,
    width: options.Width = None,
    max_estimates: options.MaxEstimates = None,
    market: options.MarketFile = None,
    product: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A product file (TOML): compare in a shop, beside staying.")
    ] = None,
    world: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With a product: who comes and buys (TOML).  [default: the product file]"),
    ] = None,
    trust: Annotated[
        list[str] | None,
        options.many("NAME", "With a product: central, local, shuffle or aggregated; repeat for more rows."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write comparison.png, comparison.svg and trials.parquet there."),
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Compare policies: a table, and a picture of regret over time; or, with a product, earnings in a shop.

    Examples:

    \b
      hushprice compare
      hushprice compare --policy paper@published --policy paper@printed --dimension 3 --output demo
      hushprice compare --product product.toml --trust central --trust aggregated --trust local --horizon 5e4
    """
    if product is not None or world is not None or trust:
        from hushprice.cli import compare_shop

        compare_shop.run(context, product, world)
        return
    from hushprice.cli import show
    from hushprice.simulation.compare import DEFAULT, compare_policies, write_comparison

    asked = options.settings(context)
    asked.pop("trust")  # of shops
    options.check_output(output, "matplotlib", "polars")
    options.look_here(policy or [])
    with show.progress() as advance:
        results = compare_policies(policy or list(DEFAULT), trials=trials, workers=workers, progress=advance, **asked)
    files = [] if output is None else write_comparison(results, output)
    if format is options.Format.json:
        show.json([result.to_dict() for result in results])
    else:
        show.table(results, files=files)
