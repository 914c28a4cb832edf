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
        str,
        typer.Option(metavar="NAME", help=f"{', '.join(POLICIES)}, or module:Class."),
    ] = "noisy-newton",
    calibration: Annotated[
        str, typer.Option(metavar="NAME", help="For policy paper: printed, published or tight.")
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
    market: options.MarketFile = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE.parquet", help="Write one row a trial there.")] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Run one policy: regret, revenue, surplus and privacy.

    Examples:

    \b
      hushprice simulate --policy paper --horizon 1e5 --dimension 2 --epsilon 2
      hushprice simulate --policy noisy-newton --epsilon 0.5 --reference-price 0.4
      hushprice simulate --policy fixed --price 1 --format json
      hushprice simulate --trials 65536 --device gpu --precision single
      hushprice simulate --policy nonprivate --market shop.toml --output runs.parquet
    """
    from hushprice.cli import show
    from hushprice.simulation.atomic_file import check_parquet
    from hushprice.simulation.device import choose
    from hushprice.simulation.run import prepare, run

    if output is not None:
        check_parquet(output)
    options.look_here([policy])
    job = prepare(policy, **options.settings(context))
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
