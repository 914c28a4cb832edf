"""hushprice sweep: a grid of settings, resumable, on this machine or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hushprice.cli import options
from hushprice.cli.options import many


def sweep(
    context: typer.Context,
    *,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Finished trials and summary.parquet go there.")],
    grid: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Values of any of the settings; flags replace its entries.")
    ] = None,
    policy: Annotated[list[str] | None, many("NAME", "A policy, or module:Class.  [default: noisy-newton]")] = None,
    calibration: Annotated[
        list[str] | None,
        many("NAME", "For policy paper printed, published or tight; for some rivals the last two.  [default: tight]"),
    ] = None,
    horizon: Annotated[
        list[int] | None, many("T", "Number of customers, such as 100000 or 1e5.  [default: 100000]", options.count)
    ] = None,
    dimension: Annotated[
        list[int] | None, many("D", "Features of the paper's instance, 2 to 11.  [default: 2]", options.count)
    ] = None,
    market: Annotated[list[str] | None, many("FILE", "A market file (TOML) instead of the paper's instance.")] = None,
    features: Annotated[
        list[str] | None, many("MAP", "See the market through main, intercept or interactions.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, many("E", "Total epsilon, eps1 + eps2.  [default: 1.0]", options.number)
    ] = None,
    delta: Annotated[
        list[str] | None, many("X", "Total delta: a number, or a formula such as 2/T^2.  [default: 2/T^2]")
    ] = None,
    epsilon_covariance: Annotated[
        list[float] | None, many("E1", "eps1 instead of half of --epsilon.", options.number)
    ] = None,
    epsilon_estimate: Annotated[
        list[float] | None, many("E2", "eps2 instead of half of --epsilon.", options.number)
    ] = None,
    adjacency: Annotated[
        list[str] | None,
        many("NAME", "What one changed record means: replace-one or zero-out.  [default: replace-one]"),
    ] = None,
    price: Annotated[
        list[float] | None,
        many("P", "For policy fixed; without it, the best fixed price in hindsight.", options.number),
    ] = None,
    exploration_periods: Annotated[list[int] | None, many("T0", "Random prices at the start.", options.count)] = None,
    ridge: Annotated[list[float] | None, many("RHO", "Regularization rho.", options.number)] = None,
    width: Annotated[list[float] | None, many("GAMMA", "Width gamma of the confidence bonus.", options.number)] = None,
    max_estimates: Annotated[list[int] | None, many("D_INF", "Most estimates ever released.", options.count)] = None,
    reference_price: Annotated[
        list[float] | None, many("P", "For noisy-newton: quoted before anything is known.", options.number)
    ] = None,
    seed: Annotated[
        list[int] | None, many("S", "Trial i depends on (seed, i) alone.  [default: 0]", options.count)
    ] = None,
    trials: Annotated[
        int | None, typer.Option(parser=options.count, metavar="N", help="Trials of every cell.  [default: 20]")
    ] = None,
    executor: options.Executor = "local",
    address: options.Address = None,
    workers: options.Workers = None,
    device: options.Device = "cpu",
    precision: options.Precision = "double",
    format: options.Printed = options.Format.table,
) -> None:
    """Run every combination of the settings given; every setting can be repeated.

    Finished work is kept in the output folder as it comes. Stopped and run again, only what is missing is done.

    Examples:

    \b
      hushprice sweep --policy paper --policy nonprivate --horizon 1e4 --horizon 1e5 --epsilon 1 --output study
      hushprice sweep --grid study.toml --trials 100 --executor ray --address 10.0.0.1:6379 --output study
    """
    from hushprice.cli.run_sweep import run_sweep

    plan = ("output", "grid", "trials", "executor", "address", "workers", "device", "precision", "format")
    given: dict[str, Any] = {name: value for name, value in context.params.items() if name not in plan and value}
    run_sweep(
        given,
        file=grid,
        trials=trials,
        output=output,
        where={"name": executor, "address": address, "workers": workers, "device": device, "precision": precision},
        as_json=format is options.Format.json,
    )
