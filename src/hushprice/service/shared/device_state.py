"""Trust local: all that a customer's device needs to make its price and its report. Public, like every release."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.pricing import asked
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.service.shared.product import Product
from hushprice.service.shared.tariff import Tariff
from hushprice.trust.question import Question
from hushprice.trust.till import Till

Mark = Annotated[str, Meta(description="of this belief with these rules: a quote names the mark that it is for")]
_VERSION = 8  # bytes


class DeviceState(msgspec.Struct, frozen=True, kw_only=True):
    """The belief, as devices are told it."""

    product: str
    currency: str
    trust: Literal["local"]
    version: Annotated[int, Meta(ge=0, description="of the belief")]
    epsilon: Annotated[float, Meta(description="of one report, by itself and at delta 0; k reports cost k times it")]
    keep: Annotated[float, Meta(description="how often a device does not turn its bit over")]
    most: Annotated[float, Meta(description="the largest quantity that one visitor can buy")]
    question: Question
    till: Till
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
    till = till_of(product, policy, tariff)
    made = DeviceState(
        product=product.name,
        currency=product.currency,
        trust="local",
        version=quoter.version,
        epsilon=product.epsilon,
        keep=asked.keep_of(quoter),
        most=policy.product.most,
        question=asked.question_of(quoter),
        till=till,
    )
    mark = hashlib.sha256(msgspec.json.encode(made)).hexdigest()[:16]
    return msgspec.structs.replace(made, mark=mark)


def asked_by(version: int) -> bytes:
    """What the store keeps of a quote that a device prices, in place of a context: which belief asked."""
    return version.to_bytes(_VERSION, "little")
