"""Forgetting a customer."""

from __future__ import annotations

from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared.keys import customer_digest
from hushprice.service.shared.messages import ForgetRequest, Forgotten

REMAINS = [
    "The slots of this customer's quotes stay: what is learned when must not depend on who was forgotten.",
    "Of such a quote stay its id, its date and the API key that asked; no attribute, price, outcome or customer key.",
    "A keyed digest of the customer key stays, with how many records were due: who comes back gets no second cap.",
    "Releases already made stand. They are noised so that one record moves them little, and cannot be drawn again.",
    "Sums of the batch at hand keep what was learned before; the batch's next releases, noised, are made of them.",
    "Copies made before have the records until they are deleted or overwritten: backups, and the database's own log.",
    "Quotes that were asked without this customer key are not found by it.",
    "Other processes may remember the id and price of quotes asked with Idempotency-Keys, until newer ones come.",
    "Quotes that another process gave while the store was away come in when it is back: ask again then.",
    "The shop's own systems and its logs are not touched.",
]


async def forget(service: Service, request: CheckedRequest) -> Answer:
    """Erase a customer's records; returns what remains where. The answer is the same for one who never came."""
    digest = customer_digest(service.customer_secret, request.body.customer)
    await service.writer.call(lambda store: store.forget(digest, request.sender.signature))
    service.recent.clear()
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
        of_records=True,
        body=ForgetRequest,
        answers={200: Forgotten},
        refusals={503: "the store is away"},
    ),
)
