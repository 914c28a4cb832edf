"""How a product of policy cautious does, from its last release: post-processing, so it costs nothing."""

from __future__ import annotations

import math

from hushprice.policies.cautious.pricing.health import Interval, Tally, interval
from hushprice.policies.cautious.pricing.holdout import Comparison, Group
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.product import Product as ShopProduct
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared.problems import Problem
from hushprice.service.shared.product import shop_product_of
from hushprice.service.shared.report_messages import Earnings, Estimate, Fit, HealthStatus, PricesNow, ProductHealth

_MISFITS = {
    "bought": "{} a visit was bought",
    "coins": "{} more a visit was bought at the cheaper of two prices",
    "likelier": "{} more a visit was bought by who is a standard deviation likelier to buy",
}
_SURE = 2.0  # deviations above zero: what is divided by must be


def status_of(priced: PricedProduct) -> HealthStatus | None:
    """The status in a word; None for other policies, which release nothing that would tell."""
    if not priced.product.in_shop_words:
        return None
    if priced.status == "frozen":
        return "frozen"
    quoter = _quoter_of(priced)
    if quoter.health.worse:
        return "worse than its holdout"
    if _moved(priced):
        return "paying"
    return "learning" if quoter.rule.spread > 0.0 else "staying"


def in_the_log(status: HealthStatus | None) -> str | None:
    """The status as people read it: prices that moved may earn less."""
    return "at moved prices" if status == "paying" else status


def is_misfit(priced: PricedProduct) -> bool:
    """Do visitors lately buy otherwise than was believed? False for policies that release nothing that would tell."""
    return priced.product.in_shop_words and _quoter_of(priced).health.misfit


def health_of(priced: PricedProduct, *, with_cost: bool) -> ProductHealth:
    """Everything that releases tell. Earnings in currency are for an admin: with the conversion they tell the cost.

    Worked out once a release: figures are asked for of all products at once, while quotes wait.
    """
    if not priced.product.in_shop_words:
        raise Problem(404, "no_health", f"policy {priced.product.policy} releases nothing that would tell", "name")
    known: ProductHealth | None = priced.healths.get((priced.status, with_cost))
    if known is None:
        known = priced.healths[priced.status, with_cost] = _worked_out(priced, with_cost=with_cost)
    return known


def _worked_out(priced: PricedProduct, *, with_cost: bool) -> ProductHealth:
    status = status_of(priced)
    assert status is not None
    quoter, shop = _quoter_of(priced), shop_product_of(priced.product)
    health = quoter.health
    tallies = {
        "conversion": health.bought,
        "recent_conversion": health.lately,
        "at_dearer_price": health.dearer,
        "at_cheaper_price": health.cheaper,
        "by_believed_demand": health.likelier,
    }
    fits = {name: _fit(tally, shop) for name, tally in tallies.items()}
    gain = _gain(health.compared)
    return ProductHealth(
        product=priced.product.name,
        status=status,
        words=_words(priced, quoter, shop, status),
        batches=quoter.version,
        recent_batches=len(health.recent),
        **fits,
        misfit=health.misfit,
        gain=gain,
        earnings=_earnings(health.compared, shop) if with_cost else None,
        not_known=[name for name, value in (fits | {"gain": gain}).items() if value is None],
        demand_changes=quoter.changed,
        alarms=health.alarms,
        alarm_after_slot=health.alarmed,
        prices=PricesNow(*priced.range, _money(quoter.rule.spread * shop.reach), quoter.end),
        label=priced.label,
    )


def _moved(priced: PricedProduct) -> bool:
    """Is there a customer whose price is another than today's, but for the coin?"""
    low, high = priced.range
    return not low == high == float(priced.reference.charged)


def _quoter_of(priced: PricedProduct) -> CautiousQuoter:
    assert isinstance(priced.quoter, CautiousQuoter)
    return priced.quoter


def _fit(tally: Tally, shop: ShopProduct) -> Fit | None:
    if tally.count == 0.0:
        return None
    return Fit(shop.most * tally.mean, _estimate(tally.observed, shop.most), round(tally.count))


def _gain(compared: Comparison) -> Estimate | None:
    """What others earned more than the holdout, as a share; None where the holdout's earnings are not sure yet."""
    held, others = compared.holdout, compared.others
    deviation = math.sqrt(held.weighted_noise + max(held.squares, 0.0))
    if not held.weighted > _SURE * deviation:
        return None
    ratio = others.weighted / held.weighted
    own = others.weighted_noise + max(others.squares, 0.0)
    return _estimate(interval(ratio - 1.0, math.sqrt(own + (ratio * deviation) ** 2) / held.weighted))


def _earnings(compared: Comparison, shop: ShopProduct) -> Earnings | None:
    if compared.pairs == 0.0:
        return None
    largest = (shop.margin + shop.highest) * shop.reach * shop.most  # in currency, of one visit
    difference, deviation = compared.difference()
    return Earnings(
        personal=_of_group(compared.others, largest),
        holdout=_of_group(compared.holdout, largest),
        difference=_estimate(interval(difference / compared.pairs, deviation / compared.pairs), largest),
    )


def _of_group(group: Group, largest: float) -> Estimate:
    return _estimate(interval(group.earned / group.slots, group.deviation / group.slots), largest)


def _estimate(found: Interval, unit: float = 1.0) -> Estimate:
    return Estimate(*(float(f"{unit * value:.6g}") for value in (found.estimate, found.low, found.high)))


def _money(value: float) -> float:
    return float(f"{value:.6g}")


def _words(priced: PricedProduct, quoter: CautiousQuoter, shop: ShopProduct, status: HealthStatus) -> str:
    """What prices do now, as one would say it."""
    today, rule, alarmed = priced.reference.charged, quoter.rule, quoter.health.alarmed
    found = (
        ""
        if alarmed is None
        else f" After slot {alarmed} prices were found to earn less than the holdout, by more than the risk of "
        f"{100.0 * shop.risk:g} %."
    )
    if status == "frozen":
        return f"Everybody pays today's price, {today}, until the product is resumed.{found}"
    decimals = priced.product.decimals
    if _moved(priced):
        low, high = (f"{each:.{decimals}f}" for each in priced.range)
        doing = f"Prices have left today's, {today}: now {low if low == high else f'{low} to {high}, by the customer'}"
        if rule.spread > 0.0:
            doing += f"; a coin adds or takes {rule.spread * shop.reach:.{decimals}f}"
    elif rule.spread > 0.0:
        anybody = bytes(8 * quoter.model.contexts)
        low, high = (priced.price(anybody, uniform).charged for uniform in (0.25, 0.75))
        doing = f"A coin sets {low} or {high}, to learn how demand reacts to the price"
    else:
        doing = f"Everybody pays today's price, {today}: nothing is tried out"
    for which, lately in quoter.health.misfits.items():
        seen, believed = (f"{shop.most * each:.2g}" for each in (lately.observed.estimate, lately.mean))
        doing += f". Lately {_MISFITS[which].format(seen)} where {believed} was believed, beyond noise and chance"
    worse = " They earn less than the holdout, which pays today's price." if status == "worse than its holdout" else ""
    return f"{doing}.{worse}{found}"
