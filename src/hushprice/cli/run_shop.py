"""hushprice simulate with a product: one strategy in one world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from hushprice.cli import options
from hushprice.errors import InvalidInput

# A market has no product: it is the paper's model, with prices in [0, 1] and a theta in the unit ball.
_READ = ("product", "world", "policy", "horizon", "epsilon", "delta", "trials", "seed", "workers", "noise", "trust",
         "output", "format")  # fmt: skip


def run(context: typer.Context, product_file: Path | None, world_file: Path | None) -> None:
    """Read both files, run, and print."""
    from hushprice.cli import show, show_shop
    from hushprice.product_file import load_product
    from hushprice.settings import doubt_of
    from hushprice.shops.world_file import load_world
    from hushprice.simulation.atomic_file import check_parquet, write_parquet
    from hushprice.simulation.run import simulate

    given = context.params
    for name in given:
        if options.was_given(context, name) and name not in _READ:
            raise InvalidInput(f"{name} is for markets, not for a product in a world, got {given[name]!r}")
    if product_file is None:
        raise InvalidInput(f"a world needs a product to be priced; --product is missing, got --world {world_file}")
    output: Path | None = given["output"]
    if output is not None:
        check_parquet(output, ".csv")
    asked: dict[str, Any] = {name: given[name] for name in ("epsilon", "delta") if options.was_given(context, name)}
    product = replace(load_product(product_file), **asked)
    world = load_world(world_file or product_file, product)
    show.note(show_shop.fitted_note(world))
    show.note(doubt_of(given["trust"], product.contexts))
    settings = {name: given[name] for name in ("horizon", "trials", "seed", "workers", "noise", "trust")}
    with show.progress() as advance:
        result = simulate(given["policy"], product=product, world=world, progress=advance, **settings)
    shown = result.to_dict()  # refuses a world in which staying earns nothing, before a file is written
    if output is not None:
        write_parquet(result.frame(), output)
    if given["format"] is options.Format.json:
        show.json(shown)
    else:
        show_shop.table(result, product, output)
