"""hushprice audit: is a claimed epsilon refuted by what can be observed?"""

from __future__ import annotations

import typer

from hushprice.cli import options


def audit(
    policy: options.Policies = None,
    story: options.Stories = None,
    horizon: options.Horizon = 500,
    period: options.Period = None,
    others: options.Others = "known",
    runs: options.Runs = 2000,
    confidence: options.Confidence = 0.99,
    dimension: options.Dimension = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = "2/T^2",
    seed: options.Seed = 0,
    workers: options.Workers = None,
    exploration_periods: options.Exploration = None,
    ridge: options.Ridge = None,
    width: options.Width = None,
    max_estimates: options.MaxEstimates = None,
    market: options.MarketFile = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Bound epsilon from below by runs of two worlds; exit code 1 if a claim is refuted.

    Examples:

    \b
      hushprice audit
      hushprice audit --policy shop:Policy --runs 4e3 --horizon 200 --format json
    """
    from hushprice.audits.black_box import DEFAULT, audit_prices
    from hushprice.audits.stories import STORIES
    from hushprice.cli import show, show_audits
    from hushprice.simulation.market_file import load_market

    options.look_here(policy or [])
    with show.progress() as advance:
        found = audit_prices(
            policy or DEFAULT,
            stories=story or tuple(STORIES),
            horizon=horizon,
            period=period,
            others=others,
            runs=runs,
            confidence=confidence,
            dimension=dimension,
            market=None if market is None else load_market(market),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            workers=workers,
            exploration_periods=exploration_periods,
            ridge=ridge,
            width=width,
            max_estimates=max_estimates,
            progress=advance,
        )
    if format is options.Format.json:
        show.json([each.to_dict() for each in found])
    else:
        show_audits.findings(found)
    if any(each.refuted for each in found):
        raise typer.Exit(1)
