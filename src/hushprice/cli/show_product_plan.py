"""A shop's plan for people."""

from __future__ import annotations

from pathlib import Path

from hushprice.cli import show
from hushprice.product import Product
from hushprice.research.experiments.tables import TextTable
from hushprice.research.shop_planner.answers import answers, per_cent
from hushprice.research.shop_planner.plan import EpsilonPrice, PlannedDay, PricingWay, ShopPlan, TrustPrice


def table(plan: ShopPlan, files: list[Path]) -> None:
    """Print everything the plan says."""
    product = plan.product
    show.text(
        f"Today's price {product.reference_price:g}, allowed {product.floor:g} to {product.ceiling:g}, "
        f"{_bought(product)}; {plan.visitors_per_day:,} visitors a day, epsilon {product.epsilon:g}, "
        f"delta {plan.delta:.2g}"
    )
    shops = f"{plan.trials} shops" if plan.trials > 1 else "1 shop"
    show.text(f"Simulated: {shops}, {plan.days:,} days, seed {plan.seed}. Earned so far against staying:\n")
    show.text_table(TextTable(["days", "visitors", "10 %", "median", "90 %", "mean"], [*map(_day, plan.schedule)]))
    show.text(f"\nWays of pricing after {plan.days:,} days, in {plan.compared} of these shops:\n")
    show.text_table(TextTable(["pricing", "mean", "+-", "beside the first", "worst moment"], [*map(_way, plan.ways)]))
    show.text("\nWhat each epsilon costs there:\n")
    own = product.epsilon
    lines = [_epsilon(each, own) for each in plan.epsilons]
    show.text_table(TextTable(["epsilon", "mean", "cost of privacy"], lines))
    if plan.trusts:
        show.text("\nWhat it costs not to be trusted:\n")
        heads = ["trust", "mean", "below central", "customers for the same"]
        show.text_table(TextTable(heads, [*map(_trust, plan.trusts)]))
    show.text("")
    for line in answers(plan):
        show.text(line)
    show.text(f"{plan.seconds:.0f} s")
    for file in files:
        show.text(f"wrote {file}")


def _bought(product: Product) -> str:
    if product.most == 1.0:
        return f"{100.0 * product.conversion:g} % buy"
    return f"{product.conversion:g} bought a visit"


def _day(day: PlannedDay) -> list[str]:
    return [f"{day.day:,}", f"{day.visitors:,}", *map(per_cent, (day.low, day.median, day.high, day.mean))]


def _way(way: PricingWay) -> list[str]:
    beside = "" if way.ahead is None else f"{per_cent(way.ahead)}{_error(way.ahead_error, ' +- ')}"
    return [way.name, per_cent(way.gain), _error(way.error), beside, per_cent(way.worst - 1.0)]


def _epsilon(each: EpsilonPrice, own: float) -> list[str]:
    name = "noise off" if each.epsilon is None else f"{each.epsilon:g}" + (" (planned)" if each.epsilon == own else "")
    cost = "" if each.epsilon is None else f"{100.0 * each.cost:.2f} %{_error(each.cost_error, ' +- ')}"
    return [name, per_cent(each.gain), cost]


def _trust(each: TrustPrice) -> list[str]:
    times = "not seen" if each.times is None else f"{each.times:.1f} times"
    return [each.trust, per_cent(each.gain), f"{100.0 * each.cost:.2f} %{_error(each.cost_error, ' +- ')}", times]


def _error(error: float | None, before: str = "") -> str:
    return "" if error is None else f"{before}{100.0 * error:.2f} %"
