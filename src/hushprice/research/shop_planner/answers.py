"""The answers a shop asks for, in its words."""

from __future__ import annotations

from hushprice.research.shop_planner.plan import PERSONAL, ShopPlan

_COUNTED = 1000  # visitors after which moments count against risk
_SURE = 0.05  # that fewer shops than said are beyond risk


def answers(plan: ShopPlan) -> list[str]:
    """What will it earn, should it be done, what does privacy cost, what can the holdout show, how bad can it get."""
    return [_earned(plan), _advice(plan), _privacy(plan), _holdout(plan), _worst(plan), _assumed(plan)]


def per_cent(share: float) -> str:
    """A share in per cent, with its sign: +1.20 %."""
    return f"{100.0 * share:+.2f} %"


def _earned(plan: ShopPlan) -> str:
    end = plan.curve[-1]
    return (
        f"After {_days(plan.days)} a shop like this has earned {per_cent(end.median)} against staying at today's price "
        f"(median); a tenth of such shops is below {per_cent(end.low)}, a tenth above {per_cent(end.high)}."
    )


def _advice(plan: ShopPlan) -> str:
    best, own = plan.best_way, plan.ways[0]
    if plan.advice == "stay":
        return f"Staying at today's price is best: no way of pricing pays within {_days(plan.days)}."
    if best is not own:
        assert best.ahead is not None
        return (
            f"One price is better ({best.name}): it earns {per_cent(best.ahead)} more of staying than {own.name}, in "
            f"the mean of {plan.compared} shops."
        )
    who = "Personal prices" if plan.main == PERSONAL else "The policy's price"
    pays = f"{who} begin{'' if plan.main == PERSONAL else 's'} to pay on day {plan.pays_from}"
    doubt = ""
    if plan.main == PERSONAL and (rival := max(plan.ways[1:], key=lambda way: way.gain)).ahead is not None:
        told = abs(rival.ahead) > 2.0 * (rival.ahead_error or 0.0)
        doubt = f"; {rival.name} earns {per_cent(rival.ahead)} beside them" + ("" if told else ", too close to call")
    return f"{pays}: from then on at least half of the shops have earned more than by staying{doubt}."


def _privacy(plan: ShopPlan) -> str:
    own = next(each for each in plan.epsilons if each.epsilon == plan.product.epsilon)
    return (
        f"Privacy at epsilon {plan.product.epsilon:g} costs {100.0 * own.cost:.2f} % of what staying earns: with the "
        f"noise off it would be {per_cent(plan.epsilons[-1].gain)} instead of {per_cent(own.gain)}, in the mean of "
        f"{plan.compared} shops."
    )


def _holdout(plan: ShopPlan) -> str:
    holdout = plan.holdout
    return (
        f"A holdout of {100.0 * holdout.share:g} % can show a difference of {100.0 * holdout.difference:g} % after "
        f"{holdout.visitors:,} visitors, {_days(holdout.days)}."
    )


def _worst(plan: ShopPlan) -> str:
    if plan.curve[-1].visitors < _COUNTED:
        return f"Risk is counted from {_COUNTED:,} visitors on; by then no shop has had so many."
    worst, shops = plan.worst, f"{plan.trials} shops" if plan.trials > 1 else "the one shop"
    lost = f"{100.0 * max(0.0, 1.0 - worst.least):.2f} %"
    found = f"At its worst moment after 1,000 visitors the worst of {shops} was {lost} behind staying"
    if worst.one_in_hundred is not None:
        found += f", 1 in 100 by {100.0 * max(0.0, 1.0 - worst.one_in_hundred):.2f} % or more"
    allowed = f"the risk of {100.0 * worst.risk:g} %"
    if worst.beyond:
        return f"{found}; {worst.beyond} of {plan.trials} went beyond {allowed}."
    share = 100.0 * (1.0 - _SURE ** (1.0 / plan.trials))
    return f"{found}; none went beyond {allowed}, so at most {share:.0f} % of such shops do (at 95 %)."


def _assumed(plan: ShopPlan) -> str:
    if plan.given_world:
        return "All shops have the world that was given; they differ by luck alone."
    return (
        "Shops like this: conversion, elasticity and what attributes matter are drawn from what the product says. "
        "A narrower elasticity in the product, or --world, narrows the band."
    )


def _days(days: float) -> str:
    if days == 1:
        return "1 day"
    return f"{days:,.0f} days" if days < 1000 else f"{days / 365:,.0f} years"
