"""Products: declared by an admin, read by anybody who may."""

from __future__ import annotations

import asyncio
import time

import msgspec

from hushprice.errors import InvalidInput
from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared import problems
from hushprice.service.shared.device_state import DeviceState
from hushprice.service.shared.messages import ProductList, ReferencePrice
from hushprice.service.shared.problems import Problem
from hushprice.service.shared.product import Product, check_reference
from hushprice.service.shared.product_checks import check
from hushprice.service.shared.product_view import ProductView, reference_of
from hushprice.service.shared.tariff import PriceRules, check_rules
from hushprice.service.store.protocol import DuplicateProduct
from hushprice.service.store.values import Role

_ANYBODY: tuple[Role, ...] = ("shop", "auditor", "admin")


def find(service: Service, request: CheckedRequest) -> PricedProduct:
    """The product that the path names."""
    priced = service.product_table.products.get(request.path["name"])
    if priced is None:
        raise problems.unknown_product("name")
    return priced


def _living(service: Service, request: CheckedRequest) -> PricedProduct:
    """The product that the path names, unless it is retired."""
    priced = find(service, request)
    if priced.retired:
        raise problems.retired(409)
    return priced


def _view(priced: PricedProduct, request: CheckedRequest) -> ProductView:
    return priced.view(with_cost=_sees_cost(request))


def _sees_cost(request: CheckedRequest) -> bool:
    return request.key is not None and request.key.role == "admin"


def refusal(problem: InvalidInput) -> Problem:
    """The problem of a declaration that cannot be kept. It is the admin's own, and public: its value may be shown."""
    field = str(problem).split(" ", 1)[0].split("[", 1)[0].rstrip(":")
    return problems.invalid(field if field.replace(".", "").replace("_", "").isalnum() else None, str(problem))


async def create(service: Service, request: CheckedRequest) -> Answer:
    """Declare a product, and answer with it; everything in it is fixed from now on."""
    product: Product = request.body
    try:
        await asyncio.to_thread(check, product)  # noise is calibrated on the way, and quotes must not wait for it
    except InvalidInput as problem:
        raise refusal(problem) from None
    spec, rules, by = msgspec.json.encode(product), msgspec.json.encode(product.rules), request.sender.signature
    try:
        await service.writer.call(lambda store: store.add_product(product.name, spec, rules, time.time(), by))
    except DuplicateProduct:
        raise Problem(409, "duplicate", "a product of that name exists", "name") from None
    await service.reader.catch_up()
    return Answer(201, _view(service.product_table.products[product.name], request))


async def list_products(service: Service, request: CheckedRequest) -> Answer:
    """The answer with all products."""
    await service.reader.opened.wait()
    with_cost = _sees_cost(request)

    def listed(products: list[PricedProduct]) -> ProductList:
        return ProductList([priced.view(with_cost=with_cost) for priced in products])

    name = "products with cost" if with_cost else "products"
    return Answer(200, await service.lists.get(name, service.product_table.products.values(), listed))


async def show_product(service: Service, request: CheckedRequest) -> Answer:
    """The answer with one product."""
    return Answer(200, _view(find(service, request), request))


async def show_belief(service: Service, request: CheckedRequest) -> Answer:
    """The answer with what devices are told."""
    told = find(service, request).device_state
    if told is None:
        raise Problem(404, "no_device", "this product's trust is central: its prices are made here", "name")
    return Answer(200, told)


async def freeze(service: Service, request: CheckedRequest) -> Answer:
    """From now on the reference price for everybody. Slots that were given are still learned.

    This process does it at once. Where the store is away the answer is 202, and other quoters follow when it is back.
    """
    if await service.freezes.freeze(_living(service, request).product.name, request.sender.signature):
        return await _changed(service, request)
    return Answer(202, _view(find(service, request), request))


async def resume(service: Service, request: CheckedRequest) -> Answer:
    """Personal prices again."""
    await service.freezes.resume(_living(service, request).product.name, request.sender.signature)
    return await _changed(service, request)


async def retire(service: Service, request: CheckedRequest) -> Answer:
    """No quotes any more, for good. Slots that were given are learned; the name and its budget are never used again."""
    name, by = find(service, request).product.name, request.sender.signature
    await service.writer.call(lambda store: store.retire(name, time.time(), by))
    return await _changed(service, request)


async def set_rules(service: Service, request: CheckedRequest) -> Answer:
    """Set the price rules."""
    priced, new = _living(service, request), request.body
    try:
        check_rules(new, priced.product, reference_of(priced.product, priced.stored))
    except InvalidInput as problem:
        raise refusal(problem) from None
    text, name, by = msgspec.json.encode(new), priced.product.name, request.sender.signature
    await service.writer.call(lambda store: store.set_rules(name, text, text.decode(), time.time(), by))
    return await _changed(service, request)


async def set_reference_price(service: Service, request: CheckedRequest) -> Answer:
    """Set the reference price."""
    priced, price = _living(service, request), request.body.price
    try:
        check_reference(priced.product, price)
        check_rules(priced.rules, priced.product, price)
    except InvalidInput as problem:
        raise refusal(problem) from None
    share, name, by = price / priced.product.ceiling, priced.product.name, request.sender.signature
    await service.writer.call(lambda store: store.set_reference_price(name, share, time.time(), by))
    return await _changed(service, request)


async def _changed(service: Service, request: CheckedRequest) -> Answer:
    await service.reader.catch_up()
    return Answer(200, _view(find(service, request), request))


_UNKNOWN = {404: "unknown product"}
_AWAY = {503: "the store is away"}


def _change(path: str, name: str, summary: str, handler: object, *, body: object = None, late: object = None) -> Call:
    return Call(
        method="POST" if body is None else "PUT",
        path=f"/v1/products/{{name}}/{path}",
        name=name,
        tag="products",
        summary=summary,
        handler=handler,  # type: ignore[arg-type]
        roles=("admin",),
        body=body,
        answers={200: ProductView} if late is None else {200: ProductView, 202: late},
        refusals={**_UNKNOWN, 409: "the product is retired", **_AWAY},
    )


READS = (
    Call(
        method="GET",
        path="/v1/products",
        name="products",
        tag="products",
        summary="All products",
        handler=list_products,
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
        handler=show_product,
        roles=_ANYBODY,
        reads=True,
        answers={200: ProductView},
        refusals=_UNKNOWN,
    ),
    Call(
        method="GET",
        path="/v1/products/{name}/belief",
        name="belief",
        tag="products",
        summary="What a device makes its price of, where trust is not central; good until a quote names another",
        handler=show_belief,
        roles=_ANYBODY,
        reads=True,
        answers={200: DeviceState},
        refusals={404: "unknown product, or its trust is central"},
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
    _change("freeze", "freeze", "The reference price for everybody, until resumed", freeze, late=ProductView),
    _change("resume", "resume", "Personal prices again", resume),
    _change("rules", "set_rules", "Set the price rules", set_rules, body=PriceRules),
    _change(
        "reference-price", "set_reference_price", "Set the reference price", set_reference_price, body=ReferencePrice
    ),
    _change("retire", "retire", "No more quotes, for good; what was quoted is still learned", retire),
)
