"""Where devices price: all that one needs to make its price and its report. Public, like every release."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.pricing import question
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.service.shared.product import LOCAL, AggregatorAddress, Product
from hushprice.service.shared.tariff import Tariff
from hushprice.trust.question import Question
from hushprice.trust.shares import Grids, Promise
from hushprice.trust.till import Till

Mark = Annotated[str, Meta(description="of this belief with these rules: a quote names the mark that it is for")]
_VERSION = 8  # bytes


class DeviceState(msgspec.Struct, frozen=True, kw_only=True):
    """The belief, as devices are told it."""

    product: str
    currency: str
    trust: Literal["local", "aggregated"]
    version: Annotated[int, Meta(ge=0, description="of the belief")]
    epsilon: Annotated[
        float, Meta(description="local: of one report, by itself and at delta 0; k reports cost k times it")
    ]
    keep: Annotated[float | None, Meta(description="local: how often a device does not turn its bit over")] = None
    most: Annotated[float, Meta(description="the largest quantity that one visitor can buy")]
    question: Question
    till: Till
    choice: Annotated[int | None, Meta(description="aggregated: of the weights of this batch's sums")] = None
    grids: Annotated[Grids | None, Meta(description="aggregated: numbers are multiples of 2^-these")] = None
    promise: Annotated[Promise | None, Meta(description="aggregated: what each aggregator holds to")] = None
    aggregators: tuple[AggregatorAddress, AggregatorAddress] | None = None
    schema: Annotated[
        dict[str, Any] | None, Meta(description="of named attributes; what a device cannot read counts as missing")
    ] = None
    mark: Mark = ""


def till_of(product: Product, policy: CautiousPolicy, tariff: Tariff) -> Till:
    """From what the policy asks for to what is charged."""
    shop = policy.product
    return Till(
        reference_price=shop.reference_price,
        reach=shop.reach,
        step=shop.step,
        ending=shop.ending,
        cheapest=shop.cheapest,
        dearest=shop.dearest,
        ceiling=product.ceiling,
        rungs=tariff.rungs,
    )


def device_state(product: Product, policy: CautiousPolicy, quoter: CautiousQuoter, tariff: Tariff) -> DeviceState:
    """What a product's last release and its rules ask of devices."""
    till, apart = till_of(product, policy, tariff), product.trust == LOCAL
    made = DeviceState(
        product=product.name,
        currency=product.currency,
        trust="local" if apart else "aggregated",
        version=quoter.version,
        epsilon=product.epsilon,
        keep=question.keep_of(quoter) if apart else None,
        choice=None if apart else quoter.rule.choice,
        grids=None if apart else question.grids_of(quoter),
        promise=None if apart else question.promise_of(quoter),
        aggregators=product.aggregators,
        schema=product.schema,
        most=policy.product.most,
        question=question.question_of(quoter),
        till=till,
    )
    mark = hashlib.sha256(msgspec.json.encode(made)).hexdigest()[:16]
    return msgspec.structs.replace(made, mark=mark)


def asked_by(version: int) -> bytes:
    """What the store keeps of a quote that a device prices, in place of a context: which belief asked."""
    return version.to_bytes(_VERSION, "little")
