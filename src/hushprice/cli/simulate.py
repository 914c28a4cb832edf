"""hushprice simulate: one policy on one market."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options
from hushprice.policies import POLICIES


def simulate(
    context: typer.Context,
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"{', '.join(POLICIES)}, or module:Class; with a product cautious, staying or a rival.  "
            "[default: noisy-newton; with a product cautious]",
        ),
    ] = None,
    calibration: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="For policy paper printed, published or tight; for some rivals the last two."
        ),
    ] = "tight",
    horizon: options.Horizon = 100_000,
    dimension: options.Dimension = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = "2/T^2",
    epsilon_covariance: options.EpsilonCovariance = None,
    epsilon_estimate: options.EpsilonEstimate = None,
    adjacency: options.Neighbours = "replace-one",
    trials: options.Trials = 20,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    device: options.Device = "cpu",
    precision: options.Precision = "double",
    price: options.Price = None,
    exploration_periods: options.Exploration = None,
    ridge: options.Ridge = None,
    width: options.Width = None,
    max_estimates: options.MaxEstimates = None,
    reference_price: options.ReferencePrice = None,
    trigger: options.Trigger = True,
    bonus: options.Bonus = True,
    noise: options.Noise = True,
    trust: options.Trust = "central",
    market: options.MarketFile = None,
    product: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A product file (TOML), to be priced in a world.")
    ] = None,
    world: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A world file (TOML): who comes and buys.  [default: the product file]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet",
            help="Write one row a trial there; with a product one a trial and checkpoint, also as .csv.",
        ),
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Run one policy: regret, revenue, surplus and privacy; or, with a product, earnings beside today's price.

    A product and its world are TOML files, or one of both (docs/guide/worlds.md).

    Examples:

    \b
      hushprice simulate --policy paper --horizon 1e5 --dimension 2 --epsilon 2
      hushprice simulate --policy noisy-newton --epsilon 0.5 --reference-price 0.4
      hushprice simulate --policy fixed --price 1 --format json
      hushprice simulate --trials 65536 --device gpu --precision single
      hushprice simulate --policy nonprivate --market shop.toml --output runs.parquet
      hushprice simulate --product product.toml --world world.toml --horizon 5e4 --trials 16
      hushprice simulate --product product.toml --world world.toml --policy thompson --output runs.csv
    """
    if product is not None or world is not None:
        from hushprice.cli import run_shop

        run_shop.run(context, product, world)
        return
    from hushprice.cli import show
    from hushprice.settings import DEFAULT_POLICY
    from hushprice.simulation.atomic_file import check_parquet
    from hushprice.simulation.device import choose
    from hushprice.simulation.run import prepare, run

    if output is not None:
        check_parquet(output)
    name = policy or DEFAULT_POLICY
    options.look_here([name])
    job = prepare(name, **options.settings(context))
    chosen = choose(device, precision, [job])
    show.note(chosen.note)
    where = {"device": chosen.device, "precision": chosen.precision}
    with show.progress() as advance:
        result = run(job, trials=trials, workers=workers, progress=advance, **where)
    if output is not None:
        result.write(output)
    if format is options.Format.json:
        show.json(result.to_dict())
    else:
        show.table([result])
