"""For those who run the service: is it up, is it ready, how is it doing."""

from __future__ import annotations

from typing import Literal

from hushprice.service.http import metrics
from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared.messages import Health, Readiness

_TEXT = b"text/plain; version=0.0.4; charset=utf-8"


async def healthz(service: Service, request: CheckedRequest) -> Answer:
    """The answer that the process is up."""
    return Answer(200, Health("ok"))


async def readyz(service: Service, request: CheckedRequest) -> Answer:
    """The answer whether everything is there. Quotes are answered also where this says no."""
    store, learner = service.store_up, service.store_up and service.learner_up
    body = Readiness(store and learner, _up_or_away(store), _up_or_away(learner), len(service.product_table.products))
    return Answer(200 if body.ready else 503, body)


def _up_or_away(up: bool) -> Literal["up", "away"]:
    return "up" if up else "away"


async def prometheus(service: Service, request: CheckedRequest) -> Answer:
    """The answer with public figures, as Prometheus reads them."""
    await service.reader.opened.wait()
    figures = []
    for name, priced in service.product_table.products.items():
        claimed, proven = priced.policy.claimed, priced.policy.proven
        spent = 0.0 if priced.release is None or proven is None else proven.epsilon
        epsilon = 0.0 if claimed is None else claimed.epsilon
        left = 0 if priced.ended else priced.product.horizon - priced.slots
        counted = (priced.slots, priced.sequence, priced.learned)
        figures.append(metrics.ProductFigures(name, *counted, epsilon, spent, left, priced.ended))
    buffered = service.writer.buffered
    up = (service.store_up, service.learner_up)
    process = metrics.ProcessFigures(*up, buffered, service.answers, service.alarms)
    return Answer(200, metrics.render(service.latencies, figures, process).encode(), _TEXT)


READS = (
    Call(
        method="GET",
        path="/healthz",
        name="healthz",
        tag="health",
        summary="The process is up",
        handler=healthz,
        answers={200: Health},
    ),
    Call(
        method="GET",
        path="/readyz",
        name="readyz",
        tag="health",
        summary="Store and learner are up",
        handler=readyz,
        answers={200: Readiness, 503: Readiness},
    ),
    Call(
        method="GET",
        path="/metrics",
        name="metrics",
        tag="health",
        summary="Figures for Prometheus",
        handler=prometheus,
        answers={200: "text/plain"},
    ),
)
