"""For those who run the service: is it up, is it ready, how is it doing."""

from __future__ import annotations

from hushprice.service.http import metrics
from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.quoting.product_health import health_of
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared.certificates import paid_before, proven_of
from hushprice.service.shared.messages import Health, LearningReadiness, Readiness
from hushprice.settings import PRODUCT_POLICY

_TEXT = b"text/plain; version=0.0.4; charset=utf-8"


async def healthz(service: Service, request: CheckedRequest) -> Answer:
    """The answer that the process is up."""
    return Answer(200, Health("ok"))


async def readyz(service: Service, request: CheckedRequest) -> Answer:
    """The answer whether quotes are answered and kept. Whether they are learned from is another question: a balancer
    that asked it would drop every quoter at once. Without a store quotes go on, too, but outcomes do not.
    """
    up = service.store_up
    body = Readiness(up, "up" if up else "away", service.learner_status, len(service.product_table.products))
    return Answer(200 if up else 503, body)


async def learning(service: Service, request: CheckedRequest) -> Answer:
    """The answer whether what is due is learned."""
    known, status = service.product_table.learning, service.learner_status
    counts = (known.behind, known.set_aside, known.overdue, known.since_look)
    body = LearningReadiness(status == "up", status, *counts)
    return Answer(200 if body.ready else 503, body)


async def prometheus(service: Service, request: CheckedRequest) -> Answer:
    """The answer with public figures, as Prometheus reads them; for an admin also how long quotes took.

    That depends on what customers are like, so it is not public: a number out of its bounds takes longer to read.
    """
    await service.reader.opened.wait()
    figures = []
    for name, priced in service.product_table.products.items():
        claimed = priced.policy.claimed
        paid = paid_before(priced.product)
        before = 0.0 if paid is None else paid.epsilon
        spent = before if priced.release is None else proven_of(priced.product, priced.stored.overlaps).epsilon
        epsilon = 0.0 if claimed is None else claimed.epsilon
        left = 0 if priced.ended else priced.product.horizon - priced.slots
        counted = (priced.slots, priced.sequence, priced.learned)
        known = priced.planned or service.reader.planned.is_set()  # quotes would wait for all first batches
        told = known and priced.product.policy == PRODUCT_POLICY
        health = health_of(priced, with_cost=False) if told else None
        figures.append(metrics.ProductFigures(name, *counted, epsilon, spent, left, priced.ended, health))
    process = metrics.ProcessFigures(
        store_up=service.store_up,
        learner_up=service.learner_status == "up",
        buffered=service.writer.buffered,
        overdue=service.product_table.learning.overdue,
        looked=service.reader.age,
        ended=service.connections.ended,
        answers=service.answers,
        alarms=service.alarms,
        restarts=None if service.learner is None else service.learner.restarts,
    )
    latencies = service.latencies if request.sender.role == "admin" else None
    return Answer(200, metrics.render(latencies, figures, process).encode(), _TEXT)


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
        summary="Quotes are answered and kept: for balancers",
        handler=readyz,
        answers={200: Readiness, 503: Readiness},
    ),
    Call(
        method="GET",
        path="/readyz/learning",
        name="readyz_learning",
        tag="health",
        summary="What is due is learned",
        handler=learning,
        answers={200: LearningReadiness, 503: LearningReadiness},
    ),
    Call(
        method="GET",
        path="/metrics",
        name="metrics",
        tag="health",
        summary="Figures for Prometheus; with an admin key also how long quotes took",
        handler=prometheus,
        roles=("auditor",),
        answers={200: "text/plain"},
    ),
)
