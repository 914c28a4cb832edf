"""A plan as a picture: regret over customers, and what each epsilon buys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushprice.research.planner.measured import MeasuredPoint
from hushprice.research.planner.plan import ONE_PRICE, Plan
from hushprice.simulation.drawing import BLUE, GREEN, VERMILION, finish_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PRIVATE, _OPEN, _ONE, _QUIET = BLUE, GREEN, VERMILION, "#555555"


def plan_picture(plan: Plan) -> Figure:
    """Average regret so far against customers served, and after `customers` against epsilon."""
    figure = new_figure(11.0, 4.8)
    left, right = figure.subplots(1, 2)
    customers, curve, asked = plan.curve.customers, plan.curve, f"private, epsilon {plan.epsilon:g}"
    left.plot(customers, _scaled(curve.private), color=_PRIVATE, linewidth=2.0, label=asked)
    left.plot(customers, _scaled(curve.nonprivate), color=_OPEN, linestyle="--", label="the same without privacy")
    left.axvline(plan.customers, color=_QUIET, linewidth=1.0, linestyle=":")
    left.set_xlabel("customers served")
    left.set_ylabel("average regret so far (x 1e-4); lower is better")
    left.set_title(f"attributes: {plan.features}, map: {plan.map}", loc="left")
    epsilons = [each.epsilon for each in plan.epsilons]
    right.plot(epsilons, _scaled([each.regret for each in plan.epsilons]), color=_PRIVATE, marker="o", label="private")
    right.set_xlabel("epsilon, total")
    right.set_ylabel("average regret (x 1e-4)")
    right.set_title(f"after {plan.customers:,} customers", loc="left")
    if plan.measured is not None:
        points = plan.measured.points
        _dots(left, [(each.customers, each) for each in points if each.epsilon == plan.epsilon])
        _dots(right, [(each.epsilon, each) for each in points if each.customers == plan.customers])
    for axes in (left, right):
        _finish(axes, 1e4 * plan.line(ONE_PRICE).regret)
    return figure


def _dots(axes: Any, points: list[tuple[float, MeasuredPoint]]) -> None:
    """Simulation beside the forecast; nothing is drawn between points that were measured."""
    if points:
        positions, regrets, errors = zip(
            *((at, 1e4 * each.regret, 1e4 * each.error) for at, each in points), strict=True
        )
        axes.errorbar(
            positions, regrets, yerr=errors, color=_QUIET, linestyle="none", marker="D", markersize=4.5, zorder=3,
            label="measured in simulation",
        )  # fmt: skip


def _finish(axes: Any, one_price: float) -> None:
    if one_price > 0.0:
        axes.axhline(one_price, color=_ONE, linestyle="--", label="best single price (a yardstick)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend(frameon=False)
    finish_axes(axes)


def _scaled(values: list[float]) -> list[float]:
    return [1e4 * value for value in values]
