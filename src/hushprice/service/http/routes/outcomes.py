"""What became of a quote, told by its shop or by a device.

The same steps for a purchase and for none: the time an answer takes tells nothing.
"""

from __future__ import annotations

from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared import problems
from hushprice.service.shared.messages import Outcome, OutcomeRequest, ReportRequest
from hushprice.service.shared.problems import Problem
from hushprice.service.store.decisions import quote_id
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.store.values import NewOutcome


async def outcome(service: Service, request: CheckedRequest) -> Answer:
    """Hand an outcome to the store, and wait until it is durable: who was told "recorded" does not tell again."""
    body: OutcomeRequest = request.body
    if quote_id(request.path["id"]) is None:
        raise problems.unknown_quote()
    if (body.purchased is None) == (body.quantity is None):
        raise problems.invalid(None, "one of purchased and quantity must be given")
    field = "purchased" if body.quantity is None else "quantity"
    demand = float(body.purchased if body.quantity is None else body.quantity)  # type: ignore[arg-type]
    return await _tell(service, request, NewOutcome(request.path["id"], request.sender.identity, demand), field)


async def report(service: Service, request: CheckedRequest) -> Answer:
    """Hand a device's report to the store, in the same steps."""
    body: ReportRequest = request.body
    if quote_id(request.path["id"]) is None:
        raise problems.unknown_quote()
    code = float(2 * body.about + body.up)
    new = NewOutcome(request.path["id"], request.sender.identity, code, report=True)
    return await _tell(service, request, new, "up")


async def _tell(service: Service, request: CheckedRequest, told: NewOutcome, field: str) -> Answer:
    try:
        answer = await service.writer.outcome(told)
    except StoreUnavailable:
        request.give_back()
        raise
    kind = "report" if told.report else "outcome"
    if answer.status == "unknown":
        raise problems.unknown_quote()
    if answer.status == "another kind":
        raise problems.invalid(field, _OTHER_KIND[told.report])
    if answer.status == "too much":
        raise problems.invalid("quantity", f"must be at most {answer.bound:g}, the product's bound")
    if answer.status == "conflict":
        raise Problem(409, "conflict", f"another {kind} was told for this quote before", "id")
    return Answer(202 if answer.status == "late" else 200, Outcome(told.quote, answer.status, answer.repeat))


_OTHER_KIND = {
    False: "is not taken: this product's trust is not central, and its customers' devices send reports",
    True: "is not taken: this product's trust is central, and its shop tells outcomes",
}
CALLS = (
    Call(
        method="POST",
        path="/v1/quotes/{id}/outcome",
        name="outcome",
        tag="quotes",
        summary="What became of a quote; only for the key that got it",
        handler=outcome,
        roles=("shop",),
        takes="outcomes",
        of_records=True,
        body=OutcomeRequest,
        answers={200: Outcome, 202: Outcome},
        refusals={
            404: "no such quote for this key",
            409: "another outcome was told before",
            503: "the store is away; tell again",
        },
    ),
    Call(
        method="POST",
        path="/v1/quotes/{id}/report",
        name="device_report",
        tag="quotes",
        summary="What a customer's device says of a quote, where trust is local; only for the key that got it",
        handler=report,
        roles=("shop",),
        takes="outcomes",
        of_records=True,
        body=ReportRequest,
        answers={200: Outcome, 202: Outcome},
        refusals={
            404: "no such quote for this key",
            409: "another report was told before",
            503: "the store is away; tell again",
        },
    ),
)
