"""What API keys do, for the operator: quotes by key and product, alarms, and answers that depend on records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.learning.key_watch import Alarm, KeyWatch
from hushprice.service.quoting.service_state import Service


class KeyActivity(msgspec.Struct, frozen=True):
    """Quotes that a key got of a product."""

    key: Annotated[str, msgspec.Meta(description="the key's name; its identity where it was removed")]
    product: str
    quotes: int
    recent: Annotated[int, msgspec.Meta(description="of them, within the last ten minutes, since the learner started")]
    share: Annotated[float, msgspec.Meta(description="quotes as a share of the horizon")]


class Activity(msgspec.Struct, frozen=True):
    """`record_answers` are raw; the rest is counted without looking at a record."""

    label: Literal["operator-only"]
    keys: list[KeyActivity]
    alarms: Annotated[list[Alarm], msgspec.Meta(description="newest first")]
    record_answers: Annotated[
        dict[str, int] | None,
        msgspec.Meta(
            description="to outcomes and deletions, by class, of the quoter beside; null where quoters are elsewhere"
        ),
    ]


def activity_call(watch: KeyWatch, record_answers: Mapping[str, int]) -> Call:
    """The call that shows what `watch` sees."""

    async def activity(service: Service, request: CheckedRequest) -> Answer:
        products = service.product_table.products
        keys = [
            KeyActivity(
                watch.name(each.key),
                each.product,
                each.quoted,
                watch.recent(each.product, each.key),
                each.quoted / products[each.product].product.horizon,
            )
            for each in watch.counts
            if each.product in products
        ]
        return Answer(200, Activity("operator-only", keys, list(watch.alarms)[::-1], dict(record_answers) or None))

    return Call(
        method="GET",
        path="/v1/operator/activity",
        name="activity",
        tag="operator",
        summary="Quotes by key, and alarms about keys",
        handler=activity,
        roles=("admin",),
        answers={200: Activity},
    )
