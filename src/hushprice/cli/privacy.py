"""hushprice privacy: what a budget buys and what it proves, before spending any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushprice.cli import options

if TYPE_CHECKING:
    from hushprice.policies.paper.report.quantities import Value
    from hushprice.policies.paper.report.report import SettingReport


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
    from hushprice.policies.paper.report.report import report
    from hushprice.policies.paper.rules import tune
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
    numbers = report(
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
        show.json(numbers.to_dict())
    else:
        _print(numbers)


def _print(shown: SettingReport) -> None:
    from hushprice.cli import show

    out = show.console()
    asked = f"epsilon {shown.budget.total.epsilon:g}, delta {shown.budget.total.delta:.3g}"
    where = f"{shown.horizon:,} customers, d = {shown.dimension}, {shown.demand} demand"
    out.print(f"{where}, neighbours {shown.adjacency.value}: {asked}\n", soft_wrap=True)
    headings = ("quantity", "symbol", "printed", "published", "tight", "printed/tight", "published/tight")
    view = show.columns(headings, left=("quantity", "symbol"))
    group = ""
    for row in shown.rows:
        if row.group != group:
            group = row.group
            view.add_row(f"-- {group}")
        ratios = (_shown(row.ratio(name), 3) for name in ("printed", "published"))
        view.add_row(row.name, row.symbol, *(_shown(value) for value in row.values.values()), *ratios)
    out.print(view)
    out.print("\nFormulas, and the label in the paper or the file with the proof:")
    for row in shown.rows:
        out.print(f"  {row.symbol} = {row.formula}  [{row.source}]", soft_wrap=True)
    for name in shown.uncovered():
        out.print(f"\n{name}: the noise proves less than is claimed here. Such a pricer is refused.")
    out.print("\nThe proven epsilon in plain words:")
    for name, words in shown.odds().items():
        out.print(f"  {name}: {words}", soft_wrap=True)


def _shown(value: Value, digits: int = 6) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.{digits}g}"
