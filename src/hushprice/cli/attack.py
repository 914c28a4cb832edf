"""hushprice attack: what somebody who watches prices, or all releases, learns about one customer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options


def attack(
    context: typer.Context,
    *,
    policy: options.Policies = None,
    watcher: options.Watchers = None,
    story: options.Stories = None,
    horizon: options.Horizon = 200,
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
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write attacks.png and attacks.svg there.")
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Watch later prices, or every release, and guess which of two records one customer left.

    Examples:

    \b
      hushprice attack --output demo
      hushprice attack --policy noisy-newton --watcher releases --epsilon 4
      hushprice attack --policy paper@published --epsilon 1000 --watcher prices --story purchase
    """
    from hushprice.cli import show, show_audits
    from hushprice.research.audits.attack import DEFAULT, attack_policies

    options.check_output(output, "matplotlib")
    options.look_here(policy or [])
    with show.progress("watching", rated=False) as advance:
        attacks = attack_policies(policy or DEFAULT, progress=advance, **options.watching(context))
    files: list[Path] = []
    if output is not None:
        from hushprice.research.audits.picture import write_attacks

        files = write_attacks(attacks, output)
    if format is options.Format.json:
        show.json([each.to_dict() for each in attacks])
    else:
        show_audits.attacks(attacks, files)
