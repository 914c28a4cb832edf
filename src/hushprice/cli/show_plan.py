"""A plan for people."""

from __future__ import annotations

from pathlib import Path

from hushprice.cli import show
from hushprice.research.experiments.tables import TextTable
from hushprice.research.planner.answers import answers
from hushprice.research.planner.plan import EpsilonOutcome, Plan, PricingLine

_SHOWN = 5  # release times at either end


def table(plan: Plan, picture: Path | None) -> None:
    """Print everything the plan says."""
    attributes = "1 feature" if plan.features == 1 else f"{plan.features} features"
    show.text(
        f"{plan.customers:,} customers, {attributes} (d = {plan.dimension}, {plan.map}), total epsilon "
        f"{plan.epsilon:g}, delta {plan.delta:.2g}, neighbours {plan.adjacency}"
    )
    show.text(f"Prior: {plan.prior}.")
    show.text(f"Predicted means over {plan.vectors} demand vectors, {plan.draws} forecasts each, seed {plan.seed}.\n")
    show.text_table(TextTable(["pricing", "regret x 1e4", "revenue", "of best"], [_line(each) for each in plan.lines]))
    show.text(f"\nWhat each epsilon buys, at delta {plan.delta:.2g}:\n")
    headings = ["epsilon", "regret x 1e4", "revenue", "of best", "customers to beat one price", "first release"]
    show.text_table(TextTable(headings, [_bought(each, plan) for each in plan.epsilons]))
    show.text("")
    for line in (*_mechanics(plan), "", *answers(plan)):
        show.text(line)
    if picture is not None:
        show.text(f"wrote {picture}")


def _line(line: PricingLine) -> list[str]:
    error = "" if line.regret_error is None else f" +- {1e4 * line.regret_error:.2g}"
    return [line.name, f"{1e4 * line.regret:.3g}{error}", f"{line.revenue:.4f}", f"{100 * line.share:.2f} %"]


def _bought(each: EpsilonOutcome, plan: Plan) -> list[str]:
    needed = each.customers_to_beat_one_price
    return [
        f"{each.epsilon:g}" + (" (asked)" if each.epsilon == plan.epsilon else ""),
        f"{1e4 * each.regret:.3g}" + ("" if each.learning > 0.0 else " (learns nothing)"),
        f"{each.revenue:.4f}",
        f"{100 * each.share:.2f} %",
        f"over {plan.limit:.0e}".replace("e+0", "e") if needed is None else f"{int(float(f'{needed:.2g}')):,}",
        f"{each.first_release:,}",
    ]


def _mechanics(plan: Plan) -> list[str]:
    slots = [f"{slot:,}" for slot in plan.scheduled_releases]
    if len(slots) > 2 * _SHOWN:
        slots = [*slots[:_SHOWN], "...", *slots[-_SHOWN:]]
    when = f"at the latest after {', '.join(slots)} customers" if slots else f"none before customer {plan.customers:,}"
    noise = (
        f"Noise: deviation {plan.score_noise:.4g} on an entry of a batch's score, {plan.curvature_noise:.4g} of its "
        f"curvature; each record is in one batch. Proven epsilon {plan.proven_epsilon:.4g}."
    )
    lines = [noise, f"Releases: {plan.releases:.0f} in the mean, {when}."]
    if plan.personal_after is not None:
        start = f"Prices lie around {plan.reference_price:.3g} for the first {plan.personal_after:,.0f} customers"
        lines.append(f"{start} (median), and are personal from then on.")
    return lines
