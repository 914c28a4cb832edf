"""What became of a quote. The same steps for a purchase and for none: the time an answer takes tells nothing."""

from __future__ import annotations

from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared import problems
from hushprice.service.shared.messages import Outcome, OutcomeRequest
from hushprice.service.shared.problems import Problem
from hushprice.service.store.decisions import quote_id
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.store.values import NewOutcome


async def outcome(service: Service, request: CheckedRequest) -> Answer:
    """Hand an outcome to the store, and wait until it is durable: who was told "recorded" does not tell again."""
    body: OutcomeRequest = request.body
    quote = request.path["id"]
    if quote_id(quote) is None:
        raise problems.unknown_quote()
    if (body.purchased is None) == (body.quantity is None):
        raise problems.invalid(None, "one of purchased and quantity must be given")
    demand = float(body.purchased if body.quantity is None else body.quantity)  # type: ignore[arg-type]
    try:
        answer = await service.writer.outcome(NewOutcome(quote, request.sender.identity, demand))
    except StoreUnavailable:
        request.give_back()
        raise
    if answer.status == "unknown":
        raise problems.unknown_quote()
    if answer.status == "too much":
        raise problems.invalid("quantity", f"must be at most {answer.bound:g}, the product's bound")
    if answer.status == "conflict":
        raise Problem(409, "conflict", "another outcome was told for this quote before", "id")
    return Answer(202 if answer.status == "late" else 200, Outcome(quote, answer.status, answer.repeat))


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
)
