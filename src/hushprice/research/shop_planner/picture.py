"""A shop's plan as a picture: earnings over days with the band, and what each epsilon leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushprice.research.shop_planner.plan import ShopPlan
from hushprice.simulation.drawing import BLUE, GREEN, VERMILION, finish_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shop_plan_picture(plan: ShopPlan) -> Figure:
    """Gains against staying, in per cent."""
    figure = new_figure(11.0, 4.8)
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    days = [each.day for each in plan.curve]
    low, middle, high = ([100.0 * getattr(each, name) for each in plan.curve] for name in ("low", "median", "high"))
    left.fill_between(days, low, high, color=BLUE, alpha=0.2, linewidth=0, label="10 % to 90 % of shops like this")
    left.plot(days, middle, color=BLUE, linewidth=2.0, label=f"{plan.main}, epsilon {plan.product.epsilon:g}")
    left.axhline(0.0, color=VERMILION, linestyle="--", label="staying at today's price")
    left.axhline(-100.0 * plan.product.risk, color=VERMILION, linestyle=":", label="risk")
    left.set_xlabel("days")
    left.set_ylabel("earned so far against staying (%)")
    left.set_title(f"{plan.visitors_per_day:,} visitors a day", loc="left")
    names = ["off" if each.epsilon is None else f"{each.epsilon:g}" for each in plan.epsilons]
    colours = [GREEN if each.epsilon is None else BLUE for each in plan.epsilons]
    errors = [100.0 * (each.error or 0.0) for each in plan.epsilons]
    right.bar(names, [100.0 * each.gain for each in plan.epsilons], yerr=errors, color=colours, alpha=0.8)
    right.axhline(0.0, color=VERMILION, linestyle="--")
    right.set_xlabel("epsilon; off: no noise, no privacy")
    right.set_ylabel(f"after {plan.days} days (%), mean of {plan.compared} shops")
    left.legend(frameon=False)
    for axes in (left, right):
        finish_axes(axes)
    return figure
