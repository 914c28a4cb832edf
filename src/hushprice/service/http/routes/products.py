"""Products: declared by an admin, read by anybody who may."""

from __future__ import annotations

import asyncio
import time

import msgspec

from hushprice.errors import InvalidInput
from hushprice.service.http.call import Answer, Asked, Call
from hushprice.service.quoting.priced_product import Held
from hushprice.service.quoting.state import Service
from hushprice.service.shared import problems
from hushprice.service.shared.messages import ProductList, ReferencePrice
from hushprice.service.shared.problems import Problem
from hushprice.service.shared.product import Product, check, check_reference
from hushprice.service.shared.product_view import ProductView, reference_of, view_of
from hushprice.service.shared.tariff import PriceRules, check_rules
from hushprice.service.store.protocol import DuplicateProduct, Role

_ANYBODY: tuple[Role, ...] = ("shop", "auditor", "admin")


def find(service: Service, asked: Asked) -> Held:
    """The product that the path names."""
    held = service.board.products.get(asked.path["name"])
    if held is None:
        raise problems.unknown_product("name")
    return held


def _view(held: Held, asked: Asked) -> ProductView:
    stored = msgspec.structs.replace(held.stored, slots=held.slots)
    return view_of(stored, with_cost=asked.key is not None and asked.key.role == "admin")


def refuse(problem: InvalidInput) -> Problem:
    """A declaration that cannot be kept. It is the admin's own, and public: its value may be shown."""
    field = str(problem).split(" ", 1)[0].split("[", 1)[0].rstrip(":")
    return problems.invalid(field if field.replace(".", "").replace("_", "").isalnum() else None, str(problem))


async def create(service: Service, asked: Asked) -> Answer:
    """Declare a product; everything in it is fixed from now on."""
    product: Product = asked.body
    try:
        await asyncio.to_thread(check, product)  # noise is calibrated on the way, and quotes must not wait for it
    except InvalidInput as problem:
        raise refuse(problem) from None
    spec, rules = msgspec.json.encode(product), msgspec.json.encode(product.rules)
    try:
        await service.writer.call(lambda store: store.add_product(product.name, spec, rules, time.time()))
    except DuplicateProduct:
        raise Problem(409, "duplicate", "a product of that name exists", "name") from None
    await service.reader.catch_up()
    return Answer(201, _view(service.board.products[product.name], asked))


async def listed(service: Service, asked: Asked) -> Answer:
    """All products."""
    return Answer(200, ProductList([_view(held, asked) for held in service.board.products.values()]))


async def one(service: Service, asked: Asked) -> Answer:
    """One product."""
    return Answer(200, _view(find(service, asked), asked))


async def freeze(service: Service, asked: Asked) -> Answer:
    """From now on the reference price for everybody. Slots that were given are still learned."""
    name = find(service, asked).product.name
    await service.writer.call(lambda store: store.set_status(name, "frozen", time.time()))
    return await _changed(service, asked)


async def resume(service: Service, asked: Asked) -> Answer:
    """Personal prices again."""
    name = find(service, asked).product.name
    await service.writer.call(lambda store: store.set_status(name, "open", time.time()))
    return await _changed(service, asked)


async def rules(service: Service, asked: Asked) -> Answer:
    """Set the price rules."""
    held, new = find(service, asked), asked.body
    try:
        check_rules(new, held.product, reference_of(held.product, held.stored))
    except InvalidInput as problem:
        raise refuse(problem) from None
    text = msgspec.json.encode(new)
    await service.writer.call(lambda store: store.set_rules(held.product.name, text, text.decode(), time.time()))
    return await _changed(service, asked)


async def reference_price(service: Service, asked: Asked) -> Answer:
    """Set the reference price."""
    held, price = find(service, asked), asked.body.price
    try:
        check_reference(held.product, price)
        check_rules(held.rules, held.product, price)
    except InvalidInput as problem:
        raise refuse(problem) from None
    share = price / held.product.ceiling
    await service.writer.call(lambda store: store.set_reference_price(held.product.name, share, time.time()))
    return await _changed(service, asked)


async def _changed(service: Service, asked: Asked) -> Answer:
    await service.reader.catch_up()
    return Answer(200, _view(find(service, asked), asked))


_UNKNOWN = {404: "unknown product"}
_AWAY = {503: "the store is away"}


def _change(path: str, method: str, name: str, summary: str, handler: object, body: object = None) -> Call:
    return Call(
        method=method,
        path=f"/v1/products/{{name}}/{path}",
        name=name,
        tag="products",
        summary=summary,
        handler=handler,  # type: ignore[arg-type]
        roles=("admin",),
        body=body,
        answers={200: ProductView},
        refusals={**_UNKNOWN, **_AWAY},
    )


READS = (
    Call(
        method="GET",
        path="/v1/products",
        name="products",
        tag="products",
        summary="All products",
        handler=listed,
        roles=_ANYBODY,
        reads=True,
        answers={200: ProductList},
    ),
    Call(
        method="GET",
        path="/v1/products/{name}",
        name="product",
        tag="products",
        summary="One product",
        handler=one,
        roles=_ANYBODY,
        reads=True,
        answers={200: ProductView},
        refusals=_UNKNOWN,
    ),
)
CALLS = (
    Call(
        method="POST",
        path="/v1/products",
        name="create_product",
        tag="products",
        summary="Declare a product",
        handler=create,
        roles=("admin",),
        body=Product,
        answers={201: ProductView},
        refusals={409: "a product of that name exists", **_AWAY},
    ),
    _change("freeze", "POST", "freeze", "The reference price for everybody, until resumed", freeze),
    _change("resume", "POST", "resume", "Personal prices again", resume),
    _change("rules", "PUT", "set_rules", "Set the price rules", rules, PriceRules),
    _change(
        "reference-price", "PUT", "set_reference_price", "Set the reference price", reference_price, ReferencePrice
    ),
)
