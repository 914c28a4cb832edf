"""What anybody may know: privacy, certificate, history, prices and demand. All of it is made of releases."""

from __future__ import annotations

from urllib.parse import parse_qsl

from hushprice.service.http.call import Answer, Call, CheckedRequest, Query
from hushprice.service.http.routes.products import find
from hushprice.service.quoting.price_maps import demand_curve, plan_map
from hushprice.service.quoting.privacy_figures import privacy_of, privacy_of_all
from hushprice.service.quoting.product_health import health_of
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared import problems
from hushprice.service.shared.problems import Problem
from hushprice.service.shared.report_messages import (
    AllPrivacy,
    Certificate,
    ChangeView,
    DemandCurve,
    PriceMap,
    Privacy,
    ProductHealth,
    Release,
    Report,
)
from hushprice.service.shared.times import rfc3339

MOST_STEPS = 48
_STEPS = 24
_LATER = {"prices": "too many price maps are being drawn"}
_CURVE = 4  # tokens besides the one for asking: as long as so many other calls


async def all_privacy(service: Service, request: CheckedRequest) -> Answer:
    """The answer with every product's promise, and that to a customer of all of them."""
    await service.reader.planned.wait()
    return Answer(200, await service.lists.get("privacy", service.product_table.products.values(), privacy_of_all))


async def privacy(service: Service, request: CheckedRequest) -> Answer:
    """The answer with one product's promise."""
    return Answer(200, privacy_of(find(service, request)))


async def certificate(service: Service, request: CheckedRequest) -> Answer:
    """The answer with the newest certificate, as the learner signed it."""
    priced = find(service, request)
    name = priced.product.name
    if priced.product.policy == "fixed":
        raise Problem(404, "no_certificate", "policy fixed learns nothing, so there is nothing to certify", "name")
    newest = await service.reader.call(lambda store: service.product_table.certificate(store, name))
    if newest is None:
        raise Problem(404, "no_certificate", "there is none yet: the learner writes the first one", "name")
    return Answer(200, bytes(newest))


async def report(service: Service, request: CheckedRequest) -> Answer:
    """The answer with a product's history."""
    priced = find(service, request)
    name = priced.product.name
    changes, history = await service.reader.call(
        lambda store: (store.changes(name), service.product_table.history(store, name))
    )
    priced = find(service, request)  # as it is after that look
    body = Report(
        product=name,
        status=priced.status,
        learning=priced.ended is None,
        learning_ended=priced.ended,
        quotes=priced.slots,
        learned=priced.learned,
        versions=priced.version,
        # Noted before they are shown, so that a restored backup charges them.
        releases=[Release(each.sequence, each.version, each.kind, each.records, rfc3339(each.at)) for each in history],
        reference_price=float(priced.reference.charged),
        changes=[ChangeView(rfc3339(each.at), each.what, each.detail) for each in changes],
        label=priced.label,
    )
    return Answer(200, body)


async def prices(service: Service, request: CheckedRequest) -> Answer:
    """The answer with prices over one or two features."""
    priced, query = find(service, request), _query(request)
    unknown = set(query) - {"x", "y", "steps"}
    if unknown:
        raise problems.invalid("query", "parameters are x, y and steps")
    text = query.get("steps", str(_STEPS))
    steps = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if not 2 <= steps <= MOST_STEPS:
        raise problems.invalid("steps", f"must be a whole number from 2 to {MOST_STEPS}")
    plan = plan_map(priced, query.get("x"), query.get("y"), steps)
    return Answer(200, await service.maps.get(priced, plan, request.charge))


async def demand(service: Service, request: CheckedRequest) -> Answer:
    """The answer with believed demand over price."""
    request.charge(_CURVE)
    return Answer(200, demand_curve(find(service, request), _query(request)))


async def health(service: Service, request: CheckedRequest) -> Answer:
    """The answer whether the model fits and prices pay."""
    with_cost = request.key is not None and request.key.role == "admin"
    return Answer(200, health_of(find(service, request), with_cost=with_cost))


def _query(request: CheckedRequest) -> dict[str, str]:
    try:
        pairs = parse_qsl(request.query.decode("ascii"), keep_blank_values=True, max_num_fields=64, errors="strict")
    except (ValueError, UnicodeError):
        raise problems.invalid("query", "cannot be read") from None
    return dict(pairs)


def _read(path: str, name: str, summary: str, handler: object, answer: object, **more: object) -> Call:
    return Call(
        method="GET",
        path=path,
        name=name,
        tag="reports",
        summary=summary,
        handler=handler,  # type: ignore[arg-type]
        roles=("auditor",),
        reads=True,
        answers={200: answer},
        refusals={404: "unknown product", 503: _LATER.get(name, "the store is away")} if "{name}" in path else {},
        **more,  # type: ignore[arg-type]
    )


_AXES = (
    Query(name="x", description="a feature; the first one without it", schema={"type": "string"}),
    Query(name="y", description="another feature, for a map instead of a line", schema={"type": "string"}),
    Query(
        name="steps",
        description="values of a number",
        schema={"type": "integer", "minimum": 2, "maximum": MOST_STEPS, "default": _STEPS},
    ),
)
_ONE = "/v1/products/{name}"
READS = (
    _read("/v1/privacy", "all_privacy", "What all products promise", all_privacy, AllPrivacy),
    _read(f"{_ONE}/privacy", "privacy", "What a product promises, and what of it is spent", privacy, Privacy),
    _read(f"{_ONE}/certificate", "certificate", "The newest signed certificate", certificate, Certificate),
    _read(f"{_ONE}/report", "report", "Releases and changes by hand", report, Report),
    _read(f"{_ONE}/health", "health", "Does the model fit, and do prices pay? Policy cautious", health, ProductHealth),
    _read(f"{_ONE}/prices", "prices", "Prices over one or two features", prices, PriceMap, query=_AXES),
    _read(
        f"{_ONE}/demand",
        "demand",
        "Believed demand over price",
        demand,
        DemandCurve,
        free_query="a feature's name and value; those not named are in the middle",
    ),
)
