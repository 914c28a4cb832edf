"""hushprice compare with a product: ways of pricing, and trust models, with the same visitors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from hushprice.cli import options
from hushprice.errors import InvalidInput

_READ = ("product", "world", "policy", "trust", "horizon", "epsilon", "delta", "trials", "seed", "workers", "format")


def run(context: typer.Context, product_file: Path | None, world_file: Path | None) -> None:
    """Read both files, run every way, and print a row each."""
    from hushprice.cli import show, show_shop
    from hushprice.product_file import load_product
    from hushprice.settings import PRODUCT_POLICY, TRUST, doubt_of
    from hushprice.shops.world_file import load_world
    from hushprice.simulation.run import simulate

    given = context.params
    if product_file is None:
        of = "a product" if world_file is not None else f"policy {PRODUCT_POLICY!r}, which prices a product"
        option = "world" if world_file is not None else "trust"
        raise InvalidInput(f"{option} is for {of}; --product is missing, got {given[option]!r}")
    for name in given:
        if options.was_given(context, name) and name not in _READ:
            raise InvalidInput(f"{name} is for markets, not for a product in a world, got {given[name]!r}")
    asked: dict[str, Any] = {name: given[name] for name in ("epsilon", "delta") if options.was_given(context, name)}
    product = replace(load_product(product_file), **asked)
    world = load_world(world_file or product_file, product)
    policies, trusts = given["policy"] or [PRODUCT_POLICY], given["trust"] or [TRUST[0]]
    if given["trust"] and PRODUCT_POLICY not in policies:
        raise InvalidInput(f"trust is for policy {PRODUCT_POLICY!r}, got {trusts!r} without it")
    ways = [(name, trust) for name in policies for trust in (trusts if name == PRODUCT_POLICY else TRUST[:1])]
    setting = {name: given[name] for name in ("horizon", "trials", "seed", "workers")}
    show.note(show_shop.fitted_note(world))
    show.note("".join({doubt_of(trust, product.contexts) for _, trust in ways}))
    results = []
    with show.progress() as advance:
        for number, (name, trust) in enumerate(ways):
            results.append(
                simulate(
                    name, product=product, world=world, trust=trust, **setting,
                    progress=lambda done, whole, number=number: advance(number * whole + done, len(ways) * whole),
                )
            )  # fmt: skip
    if given["format"] is options.Format.json:
        show.json([result.to_dict() for result in results])
    else:
        show_shop.beside(results, product)
