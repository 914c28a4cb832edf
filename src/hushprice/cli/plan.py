"""hushprice plan: what to expect before the first customer, of a shop or of the paper's markets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hushprice.cli import options
from hushprice.errors import InvalidInput


def plan(
    context: typer.Context,
    *,
    product: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A product file (TOML): plan for this shop.")
    ] = None,
    visitors_per_day: Annotated[
        int | None, typer.Option(parser=options.count, metavar="N", help="With a product: how many visitors come.")
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            parser=options.count,
            metavar="D",
            help="With a product: how far to plan.  [default: 90, or as many as bring 250,000 visitors]",
        ),
    ] = None,
    show_difference: Annotated[
        float | None,
        typer.Option(
            parser=options.number,
            metavar="X",
            help="With a product: the difference in earnings that the holdout is to show.  [default: 0.02]",
        ),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            parser=options.number, metavar="H", help="With a product: the holdout's share of visitors.  [default: 0.1]"
        ),
    ] = None,
    world: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With a product: a world file (TOML) to plan in.  [default: worlds that the product makes likely]",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(parser=options.count, metavar="N", help="With a product: shops simulated.  [default: 24]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="With a product: one row a pricing, shop and day, as .csv or .parquet."),
    ] = None,
    trust: Annotated[
        list[str] | None,
        options.many("NAME", "With a product: what it costs if the shop is not trusted: local, shuffle, aggregated."),
    ] = None,
    customers: Annotated[
        int | None, typer.Option(parser=options.count, metavar="N", help="How many customers will come, such as 1e5.")
    ] = None,
    features: Annotated[
        int | None, typer.Option(parser=options.count, metavar="K", help="Attributes known of each customer, 1 to 30.")
    ] = None,
    epsilon: Annotated[
        str,
        typer.Option(
            parser=options.numbers,
            metavar="E",
            help="Total epsilon. With a product, which has its own: others to compare it with, such as 0.5,1,3, the "
            "default.",
        ),
    ] = "1",
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
    """Plan before collecting anything: for a shop, with --product; or for markets of the paper's model.

    For a shop: earnings by day against today's price, with a band; when personal prices begin to pay, or that one price
    is better; what each epsilon costs; how long until a holdout shows a difference; the worst moment against risk. The
    policy is simulated in worlds that the product's numbers make likely, which takes about a minute
    (docs/guide/shop_plan.md).

    For the paper's model, with --customers and --features: regret, revenue, noise and release times to expect of policy
    noisy-newton, as means over 50 demand vectors of a stated public prior.

    Examples:

    \b
      hushprice plan --product product.toml --visitors-per-day 2000
      hushprice plan --product product.toml --visitors-per-day 500 --days 30 --epsilon 1,3 --show-difference 0.05
      hushprice plan --product product.toml --visitors-per-day 2000 --world world.toml --picture plan.svg
      hushprice plan --customers 1e5 --features 2 --epsilon 1
      hushprice plan --customers 1e6 --features 4 --epsilon 0.5 --map intercept --picture plan.svg
      hushprice plan --customers 2e4 --features 1 --epsilon 0.2 --format json
    """
    from hushprice.cli import plan_product

    if product is not None:
        plan_product.plan(context, product)
        return
    _check_market(context, plan_product.OWN)
    assert customers is not None
    assert features is not None
    from hushprice.cli import show, show_plan
    from hushprice.research.planner.plan import plan as predict
    from hushprice.simulation.atomic_file import check_picture, write_figure

    if picture is not None:
        check_picture(picture)
    predicted = predict(
        customers=customers,
        features=features,
        epsilon=_one(epsilon),
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


def _check_market(context: typer.Context, of_products: tuple[str, ...]) -> None:
    """Refuse what is for products, and a plan for nobody."""
    given = context.params
    for name in of_products:
        if options.was_given(context, name):
            raise InvalidInput(f"{name} is for a product; --product is missing, got {str(given[name])!r}")
    for name in ("customers", "features"):
        if given[name] is None:
            raise InvalidInput(f"Missing option '--{name}', or --product to plan for a shop")


def _one(epsilons: Any) -> float:
    if len(epsilons) != 1:
        raise InvalidInput(f"epsilon must be one number in the paper's markets, got {epsilons!r}")
    return float(epsilons[0])
