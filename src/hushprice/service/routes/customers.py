"""Forgetting a customer."""

from __future__ import annotations

from hushprice.service.call import Answer, Asked, Call
from hushprice.service.keys import customer_digest
from hushprice.service.messages import ForgetRequest, Forgotten
from hushprice.service.state import Service

REMAINS = [
    "The slots of this customer's quotes stay, empty: what is learned when must not depend on who was forgotten.",
    "Releases already made stand. They are noised so that one record moves them little, and cannot be drawn again.",
    "Sums of the batch at hand keep what was learned before; they never leave the learner, and end with the batch.",
    "Copies made before, such as backups of the store, have the records until they are deleted.",
    "The shop's own systems and its logs are not touched.",
]


async def forget(service: Service, asked: Asked) -> Answer:
    """Erase a customer's records. The answer is the same for one who never came."""
    digest = customer_digest(service.customer_secret, asked.body.customer)
    await service.writer.call(lambda store: store.forget(digest))
    return Answer(200, Forgotten(True, REMAINS))


CALLS = (
    Call(
        method="POST",
        path="/v1/customers/forget",
        name="forget_customer",
        tag="customers",
        summary="Erase a customer's records, and say what remains where",
        handler=forget,
        roles=("admin",),
        body=ForgetRequest,
        answers={200: Forgotten},
        refusals={503: "the store is away"},
    ),
)
