"""hushprice plan: what a budget is expected to buy, before the first customer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options


def plan(
    *,
    customers: Annotated[
        int, typer.Option(parser=options.count, metavar="N", help="How many customers will come, such as 1e5.")
    ],
    features: Annotated[
        int, typer.Option(parser=options.count, metavar="K", help="Attributes known of each customer, 1 to 30.")
    ],
    epsilon: Annotated[float, typer.Option(parser=options.number, metavar="E", help="Total epsilon.")] = 1.0,
    delta: options.Delta = "2/T^2",
    adjacency: options.Neighbours = "replace-one",
    map: Annotated[
        str, typer.Option(metavar="NAME", help="How attributes and price act: main, intercept or interactions.")
    ] = "main",
    slope: Annotated[float, typer.Option(parser=options.number, metavar="Z", help="Slope of logistic demand.")] = 4.0,
    reference_price: Annotated[
        float | None,
        typer.Option(
            parser=options.number,
            metavar="P",
            help="Quoted before anything is known.  [default: 0.5, or the nearest price that can be best]",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(parser=options.count, metavar="S", help="Decides the prior's vectors and all luck.")
    ] = 0,
    workers: options.Workers = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the plan there, as .svg or .png.")
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Plan before collecting anything: regret, revenue, noise and release times to expect of policy noisy-newton.

    How many customers until private personal prices beat one good price, and which epsilon buys what. Predictions are
    means over 50 demand vectors of a stated public prior; docs/guide/planner.md compares them with simulation.

    Examples:

    \b
      hushprice plan --customers 1e5 --features 2 --epsilon 1
      hushprice plan --customers 1e6 --features 4 --epsilon 0.5 --map intercept --picture plan.svg
      hushprice plan --customers 2e4 --features 1 --epsilon 0.2 --format json
    """
    from hushprice.cli import show, show_plan
    from hushprice.research.planner.plan import plan as predict
    from hushprice.simulation.atomic_file import check_picture, write_figure

    if picture is not None:
        check_picture(picture)
    predicted = predict(
        customers=customers,
        features=features,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        map=map,
        slope=slope,
        reference_price=reference_price,
        seed=seed,
        workers=workers,
    )
    if picture is not None:
        write_figure(predicted.plot(), picture)
    if format is options.Format.json:
        show.json(predicted.to_dict())
    else:
        show_plan.table(predicted, picture)
