"""subsec:discussion-consumer-surplus: is it a lesser ability to discriminate that leaves customers more?"""

from __future__ import annotations

from hushprice.research.theory.consumer_surplus import POLICIES, changes, shown, surplus_runs, table
from hushprice.research.theory.finding import CheckSize, TheoryFinding
from hushprice.research.theory.statistics import MISS, all_of

NAME, LABEL = "surplus-reason", "subsec:discussion-consumer-surplus (the reason given)"
SIGN = -1.0  # of the change of discrimination with epsilon that the paper states; tests plant the other


def check(size: CheckSize) -> TheoryFinding:
    """How closely prices follow what a customer would pay, and what the average price alone explains."""
    runs_by_policy = surplus_runs(size)
    tracking = changes(size, runs_by_policy, "tracking")
    answers: list[bool | None] = [None if each.low <= 0 <= each.high else SIGN * each.value > 0 for each in tracking]
    surplus, by_price = changes(size, runs_by_policy, "surplus"), changes(size, runs_by_policy, "at_average")
    prices = [
        f"{runs_by_policy[each][0].price.mean():.2f} to {runs_by_policy[each][-1].price.mean():.2f}"
        for each in POLICIES
    ]
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="As epsilon increases the seller has less ability to discriminate by personal data, and therefore "
        "extracts less of the consumer surplus.",
        quantity="change of the correlation of price and taste from the smallest to the largest epsilon, "
        "paper@published",
        measured=tracking[0].value,
        bound=0.0,
        holds=all_of(answers),
        vacuous=False,
        false_alarm=len(tracking) * MISS / 2,
        explanation=f"The correlation of prices with what a customer would pay changes by {shown(tracking)}: with more "
        f"epsilon the seller discriminates {'less' if all(answers) else 'more, not less'}. What moves surplus is the "
        f"price level: the average price goes from {' and from '.join(prices)}, since a policy that cannot learn stays "
        f"near the top. Had everyone paid the average price, surplus would have changed by {shown(by_price)}; it did "
        f"by {shown(surplus)}.",
        rows=table(size, runs_by_policy),
    )
