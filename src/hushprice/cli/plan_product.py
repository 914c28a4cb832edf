"""hushprice plan with a product: what to expect of this shop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from hushprice.cli import options
from hushprice.errors import InvalidInput

_BOTH = ("product", "epsilon", "delta", "seed", "workers", "picture", "format")
OWN = ("visitors_per_day", "days", "show_difference", "holdout", "world", "trials", "output", "trust")
_LONG = 5.0  # seconds, from which a person is told how long it takes


def plan(context: typer.Context, product_file: Path) -> None:
    """Read the files, plan, and print."""
    from hushprice.cli import show, show_product_plan, show_shop
    from hushprice.product_file import load_product
    from hushprice.research.shop_planner.plan import plan_shop
    from hushprice.settings import doubt_of
    from hushprice.shops.world_file import load_customers, load_world
    from hushprice.simulation.atomic_file import check_parquet, check_picture, write_figure, write_parquet

    given = context.params
    _check(context)
    output: Path | None = given["output"]
    picture: Path | None = given["picture"]
    if output is not None:
        check_parquet(output, ".csv")
    if picture is not None:
        check_picture(picture)
    product = load_product(product_file)
    if options.was_given(context, "delta"):
        product = replace(product, delta=given["delta"])
    world = None if given["world"] is None else load_world(given["world"], product)
    asked: dict[str, Any] = {name: given[name] for name in OWN if name not in ("world", "output", "trust")}
    asked = {name: value for name, value in asked.items() if value is not None}
    if options.was_given(context, "epsilon"):
        asked["epsilons"] = given["epsilon"]
    asked["trusts"] = given["trust"] or ()
    show.note("".join({doubt_of(trust, product.contexts) for trust in asked["trusts"]}))
    if world is None:
        asked["customers"] = load_customers(product_file, product)
    else:
        show.note(show_shop.fitted_note(world))
    with show.progress_and_lines("planning", rated=False) as (advance, line):

        def announce(seconds: float) -> None:
            if seconds > _LONG:
                line(f"hushprice: this takes about {seconds:.0f} s")

        planned = plan_shop(
            product=product, world=world, seed=given["seed"], workers=given["workers"],
            progress=advance, announce=announce, **asked,
        )  # fmt: skip
    if picture is not None:
        write_figure(planned.plot(), picture)
    if output is not None:
        write_parquet(planned.frame(), output)
    if given["format"] is options.Format.json:
        show.json(planned.to_dict())
    else:
        show_product_plan.table(planned, [file for file in (output, picture) if file is not None])


def _check(context: typer.Context) -> None:
    """Are these the options of a product's plan?"""
    for name, value in context.params.items():
        if options.was_given(context, name) and name not in (*_BOTH, *OWN):
            raise InvalidInput(f"{name} is for the paper's markets, not for a product, got {value!r}")
    if context.params["visitors_per_day"] is None:
        raise InvalidInput("a plan for a product needs visitors; --visitors-per-day is missing")
