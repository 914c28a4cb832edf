"""Quotes: a price for a customer, one or many at once."""

from __future__ import annotations

import hmac
import time
from asyncio import Future
from functools import lru_cache
from typing import Literal

import msgspec

from hushprice.policies.cautious.pricing.quoter import coin_of
from hushprice.service.http import endpoint
from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.quoting.randomness import random_bytes
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared import problems, quote_ids
from hushprice.service.shared.device_state import asked_by
from hushprice.service.shared.keys import customer_digest
from hushprice.service.shared.messages import Batch, BatchRequest, Quote, QuoteRequest, RawBatch
from hushprice.service.shared.problems import Complaint, ErrorBody, Problem
from hushprice.service.shared.rate_limits import LARGEST_BATCH
from hushprice.service.shared.tariff import Charged
from hushprice.service.shared.times import rfc3339
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.store.values import UNPRICED, ApiKey, NewQuote, QuoteAnswer

_HIGHEST = 2.0**-53
_decode = msgspec.json.Decoder(QuoteRequest).decode
_canonical = msgspec.json.Encoder(order="deterministic").encode


async def quote(service: Service, request: CheckedRequest) -> Answer:
    """The answer with one quote. Stored before it is answered, unless quotes.durable is off or the store is away."""
    body, key, idempotency = request.body, request.sender, request.idempotency
    priced = _of_key(service, key, body.product)
    if priced.retired:
        return await _first_answer(service, priced, body, key, idempotency)
    service.product_table.key_use.check(key)
    new = new_quote(service, priced, body, key.identity, idempotency)
    use, writer = service.product_table.key_use, service.writer
    if idempotency is None:
        use.add(key)
    if service.settings.quotes.durable or idempotency is not None or writer.crowded:
        stored = await _store(service, new)
        if stored is not None:
            if idempotency is not None and stored.fresh:
                use.add(key)  # not before: one that was asked again takes no slot, and nothing of the quota
            answer = _store_answer(priced, stored)
        else:
            answer = Answer(201, as_quote(priced, new, recorded=False))
    else:
        answer = Answer(201, as_quote(priced, new, recorded=writer.quote_later(new)))
    service.latencies.add(time.perf_counter() - request.started)
    return answer


def _of_key(service: Service, key: ApiKey, product: str) -> PricedProduct:
    """The product that a key asks a quote of, where it is one of the key's."""
    priced = service.product_table.products.get(product)
    if priced is None:
        raise problems.unknown_product("product")
    if key.products and product not in key.products:
        raise problems.product_not_allowed("product")
    return priced


async def _first_answer(
    service: Service, priced: PricedProduct, body: QuoteRequest, key: ApiKey, idempotency: bytes | None
) -> Answer:
    """The quote that an Idempotency-Key got before the product was retired, while it is kept; a new one is refused."""
    if idempotency is None:
        raise problems.retired()
    digests = _digests(service, body, idempotency)
    try:
        stored = await service.reader.call(lambda store: store.repeated(key.identity, *digests))
    except StoreUnavailable:
        raise problems.key_not_looked_up() from None
    if stored is None:
        raise problems.retired()
    return _store_answer(priced, stored)


async def _store(service: Service, new: NewQuote) -> QuoteAnswer | None:
    """What the store says of a quote; None where it is away, and the quote stands as it is.

    An Idempotency-Key's quote is the store's, or the one that this process remembers from it. Where neither can be
    asked, none is given: it might be the key's second one, which no outcome could be told of.
    """
    try:
        stored = await service.writer.quote(new)
    except StoreUnavailable:
        stored = service.recent.find(new)
        if stored is None:
            raise problems.key_not_looked_up() from None
    if stored is not None:
        service.recent.note(new, stored)
    return stored


def _store_answer(priced: PricedProduct, stored: QuoteAnswer) -> Answer:
    """What the store says: the new quote, or for an Idempotency-Key seen before, the old one."""
    if stored.conflict:
        raise Problem(409, "idempotency_conflict", "this Idempotency-Key came with another request", "Idempotency-Key")
    return Answer(201 if stored.fresh else 200, as_quote(priced, stored, recorded=True))


def new_quote(
    service: Service, priced: PricedProduct, body: QuoteRequest, key: str, idempotency: bytes | None
) -> NewQuote:
    """The quote for one customer. Its randomness is the operating system's: nobody can foretell or repeat it."""
    product = priced.product
    customer = _customer(service, product.records_per_customer, body.customer)
    asked = priced.device_state
    context = priced.context(body.attributes, body.context) if asked is None else _unread(priced, body)
    used, fingerprint = (None, None) if idempotency is None else _digests(service, body, idempotency)
    drawn, now = random_bytes(), time.time()
    # The coin of the holdout reads no attribute: who is in it says nothing about a customer.
    holdout = _uniform(drawn[16:24]) < product.holdout
    if product.in_shop_words:
        coin = quote_ids.uniform_of(drawn)  # which the learner must draw again, from the quote's id
        holdout = holdout or not priced.personal  # a frozen price says nothing about the prices tried out
    else:
        coin = _uniform(drawn[24:])
    if asked is None:
        charged, propensity = priced.offer(context, coin, holdout=holdout)
    else:
        charged, propensity = Charged(priced.reference.charged, UNPRICED), None
    return NewQuote(
        quote_ids.new_id(service.customer_secret, key, drawn, now),
        product.name,
        key,
        context,
        charged.share,
        charged.charged,
        float(int(now + product.quote_seconds)),
        priced.version,
        holdout,
        product.outcome_seconds,
        product.records_per_customer,
        customer,
        used,
        fingerprint,
        propensity,
    )


def _unread(priced: PricedProduct, body: QuoteRequest) -> bytes:
    """In place of a context, where a device prices: which belief it is asked by. Nothing, where none asks."""
    for field in ("attributes", "context"):
        if getattr(body, field) is not None:
            why = f"this product's trust is {priced.product.trust}, and its devices keep it"
            raise problems.invalid(field, f"must not be given: {why}")
    return asked_by(priced.version) if priced.personal else b""


def _digests(service: Service, body: QuoteRequest, idempotency: bytes) -> tuple[bytes, bytes]:
    """Digests of an Idempotency-Key and of the request that came with it.

    Keyed, both: a shop may put a customer's name into the one, and attributes are in the other.
    """
    secret = service.customer_secret
    return hmac.digest(secret, b"idempotency " + idempotency, "sha256"), hmac.digest(secret, _canonical(body), "sha256")


def _uniform(drawn: bytes) -> float:
    """A number in [0, 1) from 8 random bytes."""
    return (int.from_bytes(drawn, "little") >> 11) * _HIGHEST


def _customer(service: Service, cap: int | None, customer: str | None) -> bytes | None:
    if customer is not None:
        return customer_digest(service.customer_secret, customer)
    if cap is not None:
        raise problems.invalid(
            "customer", "this product has a cap on records per customer, so a customer key is needed"
        )
    return None


def as_quote(priced: PricedProduct, quote: NewQuote | QuoteAnswer, *, recorded: bool) -> Quote:
    """A quote as its asker sees it."""
    product, expires = priced.product, rfc3339(quote.expires)
    price, likely = float(quote.charged), quote.propensity
    given = Quote(quote.id, product.name, price, product.currency, expires, quote.version, recorded, likely)
    asked = priced.device_state
    if asked is None or not priced.personal or quote.version != priced.version:  # frozen, or of an earlier belief
        return given
    coin: Literal[-1, 1] = 1 if coin_of(quote_ids.uniform_of(bytes.fromhex(quote.id))) > 0.0 else -1
    return msgspec.structs.replace(given, coin=coin, belief=asked.mark)


async def batch(service: Service, request: CheckedRequest) -> Answer:
    """The answer with many quotes; a bad item gets its error in its place."""
    if request.idempotency is not None:  # ignored, it would be a promise not kept
        raise problems.invalid("Idempotency-Key", "is for single quotes; a batch has none")
    items: list[msgspec.Raw] = request.body.quotes
    request.charge(len(items) - 1)
    pending: list[tuple[PricedProduct, NewQuote, Future[QuoteAnswer | None]] | Complaint] = []
    for index, raw in enumerate(items):
        try:
            body: QuoteRequest = endpoint.decode_body(_decode, raw)
            priced = _of_key(service, request.sender, body.product)
            if priced.retired:
                raise problems.retired()
            service.product_table.key_use.check(request.sender)
            new = new_quote(service, priced, body, request.sender.identity, None)
            service.product_table.key_use.add(request.sender)
            pending.append((priced, new, service.writer.quote(new)))
        except Problem as problem:
            complaint = msgspec.structs.replace(problem.complaint, field=_item(index, problem.complaint.field))
            pending.append(complaint)
    answers: list[Quote | ErrorBody] = []
    for each in pending:
        if not isinstance(each, tuple):
            answers.append(ErrorBody(each))
            continue
        priced, new, future = each
        recorded = await future is not None
        answers.append(as_quote(priced, new, recorded=recorded))
    service.latencies.add(time.perf_counter() - request.started)
    return Answer(200, Batch(answers))


@lru_cache(maxsize=1024)
def _item(index: int, field: str | None) -> str:
    return f"quotes.{index}" + (f".{field}" if field else "")


CALLS = (
    Call(
        method="POST",
        path="/v1/quotes",
        name="quote",
        tag="quotes",
        summary="A price for one customer",
        handler=quote,
        roles=("shop",),
        takes="quotes",
        body=QuoteRequest,
        answers={201: Quote, 200: Quote},
        refusals={
            404: "unknown product",
            409: "the Idempotency-Key came with another request",
            410: "the product is retired, and no quote of this Idempotency-Key is kept",
            503: "the store is away, and the Idempotency-Key cannot be looked up; ask again, or without it",
        },
        idempotent=True,
    ),
    Call(
        method="POST",
        path="/v1/quotes/batch",
        name="quote_batch",
        tag="quotes",
        summary=f"Prices for up to {LARGEST_BATCH} customers, each answered in its place",
        handler=batch,
        roles=("shop",),
        takes="quotes",
        body=BatchRequest,
        decoder=msgspec.json.Decoder(RawBatch),
        answers={200: Batch},
    ),
)
