"""hushprice audit: is a claimed epsilon refuted by what can be observed?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushprice.cli import options

if TYPE_CHECKING:
    from hushprice.research.audits.finding import Measurement


def audit(
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
    adjacency: options.Neighbours = "replace-one",
    seed: options.Seed = 0,
    workers: options.Workers = None,
    exploration_periods: options.Exploration = None,
    ridge: options.Ridge = None,
    width: options.Width = None,
    max_estimates: options.MaxEstimates = None,
    market: options.MarketFile = None,
    white_box: Annotated[
        bool, typer.Option("--white-box", help="Look inside the releasers instead: exact checks of their noise.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write audits.png and audits.svg there.")
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Bound mu and epsilon from below by runs of two worlds, or look inside; exit code 1 if a claim is refuted.

    Examples:

    \b
      hushprice audit --output demo
      hushprice audit --policy noisy-newton --watcher releases --epsilon 4 --delta 1e-10
      hushprice audit --policy shop:Policy --runs 4e3 --format json
      hushprice audit --white-box --policy paper@tight --runs 200
    """
    from hushprice.cli import show, show_audits
    from hushprice.errors import InvalidInput
    from hushprice.privacy.adjacency import Adjacency, adjacency_of
    from hushprice.research.audits.audit import audit_policies
    from hushprice.research.audits.watched_policies import PRIVATE

    options.check_output(output, "matplotlib")
    options.look_here(policy or [])
    if adjacency_of(adjacency) is not Adjacency.REPLACE_ONE and not white_box and watcher != ["releases"]:
        takes = "--watcher releases and --white-box take any"
        raise InvalidInput(f"adjacency of the two stories is replace-one; {takes}, got {adjacency!r}")
    if white_box:
        _audit_inside(policy or PRIVATE, runs, options.settings(context), as_json=format is options.Format.json)
        return
    with show.progress("watching", rated=False) as advance:
        findings = audit_policies(policy or PRIVATE, progress=advance, **options.watching(context))
    files: list[Path] = []
    if output is not None:
        from hushprice.research.audits.picture import write_audits

        files = write_audits(findings, output)
    if format is options.Format.json:
        show.json([each.to_dict() for each in findings])
    else:
        show_audits.findings(findings, files)
    if any(each.refuted for each in findings):
        raise typer.Exit(1)


def _audit_inside(policies: Sequence[str], runs: int, settings: dict[str, Any], *, as_json: bool) -> None:
    """Measure inside the releasers and print it; exit code 1 if something does not hold."""
    from hushprice.cli import show, show_audits

    measured = _measure(policies, runs, settings.pop("seed"), **settings)
    if as_json:
        show.json([{"policy": name} | each.to_dict() for name, each in measured])
    else:
        show_audits.measurements(measured, runs)
    if not all(each.holds for _, each in measured):
        raise typer.Exit(1)


def _measure(policies: Sequence[str], runs: int, seed: int, **settings: Any) -> list[tuple[str, Measurement]]:
    """The white-box audits of every policy that claims something."""
    from hushprice.errors import InvalidInput
    from hushprice.policies.protocol import Policy
    from hushprice.research.audits.moments import CAUTIOUS, audit_moments, rules_of
    from hushprice.research.audits.white_box import white_box
    from hushprice.simulation.compare import parse
    from hushprice.simulation.run import prepare

    measured = []
    for name in policies:
        if name == CAUTIOUS:
            measured += [(name, each) for each in audit_moments(rules_of(**settings), seed=seed)]
            continue
        policy, calibration = parse(name)
        job = prepare(policy, calibration=calibration, **settings)
        if not isinstance(job.policy, Policy):
            raise InvalidInput(f"policy must be one of hushprice's own to be looked into, got {name!r}")
        measured += [(name, each) for each in white_box(job.policy, job.market.demand, draws=runs, seed=seed)]
    if not measured:
        raise InvalidInput(f"policy must be one that adds noise to be looked into, got {', '.join(policies)}")
    return measured
