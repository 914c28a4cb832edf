"""The answers a pricing team asks for, in words."""

from __future__ import annotations

from hushprice.research.planner.plan import NONPRIVATE, ONE_PRICE, PRIVATE, Plan

_NOTHING_TO_GAIN = 1e-5  # of a customer's revenue: what personal prices could add to one good price


def answers(plan: Plan) -> list[str]:
    """One sentence or two each: is anything learned, what beats one price and when, what does privacy cost."""
    return [*_learning(plan), *_one_price(plan), *_measured(plan), _cost(plan)]


def _learning(plan: Plan) -> list[str]:
    runs = plan.vectors * plan.draws
    if plan.hopeless:
        first = next(each for each in plan.epsilons if each.epsilon == plan.epsilon).first_release
        sentence = (
            f"This budget is too small to learn anything from {plan.customers:,} customers: the first release comes "
            f"after {first:,}, and in none of {runs} forecasts are personal prices set. The policy stays around its "
            f"reference price, {plan.reference_price:.3g}."
        )
        return [sentence]
    if plan.learning < 1.0:
        sentence = (
            f"In {100 * (1 - plan.learning):.0f} % of {runs} forecasts nothing is learned from {plan.customers:,} "
            f"customers; prices then stay around the reference price, {plan.reference_price:.3g}."
        )
        return [sentence]
    return []


def _one_price(plan: Plan) -> list[str]:
    best = plan.line(ONE_PRICE)
    note = "That price is the best for a demand curve known exactly; no shop knows it, so the mark is a hard one."
    if _nothing_to_gain(plan):
        sentence = (
            f"In the prior's markets one good price earns {100 * best.share:.4f} % of what someone who knows demand "
            "earns: personal prices have next to nothing to gain there."
        )
        return [sentence, note]
    needed = plan.customers_to_beat_one_price
    if needed is None:
        when = f"Private personal prices do not beat the best single price within {plan.limit:,} customers."
    else:
        when = f"Private personal prices beat the best single price after about {_rounded(needed):,} customers."
    share = f"With {plan.customers:,} they beat it in {100 * plan.beats_one_price:.0f} % of the {plan.vectors} markets."
    return [f"{when} {share}", note]


def _measured(plan: Plan) -> list[str]:
    """Beside the forecast, what simulation found; the mark is passed with a delta for each number of customers."""
    answer = plan.measured
    if answer is None:
        return []
    sentence = (
        f"Measured in simulation, {answer.trials:,} trials a point: regret x 1e4 {1e4 * answer.regret:.3g} "
        f"+- {1e4 * answer.error:.2g}"
    )
    if _nothing_to_gain(plan):
        return [f"{sentence}."]
    if answer.customers_to_beat_one_price is not None:
        when = f"about {_rounded(answer.customers_to_beat_one_price):,}"
    elif answer.fewer_than is not None:
        when = f"fewer than {answer.fewer_than:,}"
    else:
        when = f"more than {answer.more_than:,}"
    return [f"{sentence}; it is below that of the best single price after {when} customers."]


def _nothing_to_gain(plan: Plan) -> bool:
    return 1.0 - plan.line(ONE_PRICE).share < _NOTHING_TO_GAIN


def _cost(plan: Plan) -> str:
    cost = plan.line(PRIVATE).regret - plan.line(NONPRIVATE).regret
    share = cost / (plan.line(NONPRIVATE).revenue or 1.0)
    return f"Privacy costs {1e4 * cost:.2f}e-4 of the top price a customer, {100 * share:.3f} % of revenue."


def _rounded(customers: int) -> int:
    """The number to two digits: the prediction is no finer."""
    return int(float(f"{customers:.2g}"))
