"""hushprice privacy: what a budget buys and what it proves, before spending any."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hushprice.cli import options

if TYPE_CHECKING:
    from hushprice.policies.paper.report.quantities import Value
    from hushprice.policies.paper.report.report import Report


def privacy(
    *,
    horizon: options.Horizon = 100_000,
    dimension: options.Features = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = "2/T^2",
    epsilon_covariance: options.EpsilonCovariance = None,
    epsilon_estimate: options.EpsilonEstimate = None,
    adjacency: options.Neighbours = "replace-one",
    max_estimates: options.MaxEstimates = None,
    ridge: options.Ridge = None,
    market: options.MarketFile = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Show every number a privacy budget leads to: noise, sensitivities, what is claimed and what is proven.

    Examples:

    \b
      hushprice privacy --horizon 1e5 --dimension 2 --epsilon 1
      hushprice privacy --horizon 1e6 --dimension 3 --epsilon 0.2 --delta 2/T^2 --adjacency zero-out --format json
    """
    from hushprice.cli import show
    from hushprice.demand.families import Logistic
    from hushprice.demand.protocol import Demand
    from hushprice.errors import InvalidInput
    from hushprice.policies.catalog import tune
    from hushprice.policies.paper.report.report import report
    from hushprice.privacy.adjacency import adjacency_of
    from hushprice.privacy.budget import split
    from hushprice.privacy.delta import parse_delta
    from hushprice.simulation.market_file import load_market

    demand: Demand = Logistic()
    if market is not None:
        if dimension is not None:
            raise InvalidInput(f"dimension must not be given together with a market, got {dimension!r}")
        described = load_market(market)
        demand, dimension = described.demand, described.features.dimension
    if epsilon is None and (epsilon_covariance is None or epsilon_estimate is None):
        epsilon = 1.0
    dimension = 2 if dimension is None else dimension
    tuning = tune(horizon=horizon, dimension=dimension, ridge=ridge, max_estimates=max_estimates)
    found = report(
        split(
            epsilon,
            parse_delta(delta, horizon),
            epsilon_covariance=epsilon_covariance,
            epsilon_estimate=epsilon_estimate,
        ),
        horizon=horizon,
        dimension=dimension,
        max_estimates=tuning.max_estimates,
        ridge=tuning.ridge,
        demand=demand,
        adjacency=adjacency_of(adjacency),
    )
    if format is options.Format.json:
        show.json(found.to_dict())
    else:
        _print(found)


def _print(found: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 118, highlight=False, markup=False, emoji=False)
    asked = f"epsilon {found.budget.total.epsilon:g}, delta {found.budget.total.delta:.3g}"
    where = f"{found.horizon:,} customers, d = {found.dimension}, {found.demand} demand"
    console.print(f"{where}, neighbours {found.adjacency.value}: {asked}\n", soft_wrap=True)
    view = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("quantity", "symbol", "printed", "published", "tight", "printed/tight", "published/tight"):
        view.add_column(heading, justify="left" if heading in ("quantity", "symbol") else "right")
    group = ""
    for row in found.rows:
        if row.group != group:
            group = row.group
            view.add_row(f"-- {group}")
        ratios = (_shown(row.ratio(name), 3) for name in ("printed", "published"))
        view.add_row(row.name, row.symbol, *(_shown(value) for value in row.values.values()), *ratios)
    console.print(view)
    console.print("\nFormulas, and the label in the paper or the file with the proof:")
    for row in found.rows:
        console.print(f"  {row.symbol} = {row.formula}  [{row.source}]", soft_wrap=True)
    for name in found.uncovered():
        console.print(f"\n{name}: the noise proves less than is claimed here. Such a pricer is refused.")
    console.print("\nThe proven epsilon in plain words:")
    for name, words in found.odds().items():
        console.print(f"  {name}: {words}", soft_wrap=True)


def _shown(value: Value, digits: int = 6) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.{digits}g}"
