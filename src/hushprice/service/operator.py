"""Raw figures, computed from customers' records without noise: for an admin key, on a port of its own."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Literal

import msgspec

from hushprice.service.call import Answer, Asked, Call
from hushprice.service.learning import Learning
from hushprice.service.routes.products import find
from hushprice.service.state import Service
from hushprice.service.store.protocol import Figures, LearnerStore

DAYS = 60  # of the picture by day


class Daily(Figures, frozen=True):
    """One day's figures."""

    day: str = ""


class Clips(msgspec.Struct, frozen=True):
    """How often records had to be held to their bounds."""

    attributes: Annotated[
        int | None,
        msgspec.Meta(description="customers, since the quoter beside started; null where quoters are elsewhere"),
    ]
    features: int
    demands: int
    unreadable: int


class FitTimes(msgspec.Struct, frozen=True):
    """How long learning took."""

    count: int
    mean: float
    largest: float


class Revenue(msgspec.Struct, frozen=True):
    """In currency a quote; the holdout pays the reference price. null where there are too few quotes to say."""

    personal_per_quote: float | None
    holdout_per_quote: float | None
    difference: float | None
    standard_error: float | None


class OperatorFigures(msgspec.Struct, frozen=True):
    """Everything raw of a product. Publishing one of these numbers is a release that nobody has paid for."""

    label: Literal["operator-only"]
    figures: Figures
    daily: list[Daily]
    clipped: Clips
    fit_seconds: FitTimes
    revenue: Revenue


def operator_calls(
    learning: Learning, open_store: Callable[[], LearnerStore], attributes: Mapping[str, int]
) -> tuple[Call, ...]:
    """The calls that only the learner's process has."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hushprice-operator")
    stores: list[LearnerStore] = []

    def raw(name: str) -> tuple[Figures, list[tuple[str, Figures]]]:
        if not stores:
            stores.append(open_store())
        return stores[0].figures(name), stores[0].daily_figures(name, DAYS)

    async def figures(service: Service, asked: Asked) -> Answer:
        held = find(service, asked)
        name = held.product.name
        whole, daily = await asyncio.get_running_loop().run_in_executor(thread, raw, name)
        clipped, took = learning.clipped(name), learning.fit_seconds.get(name)
        body = OperatorFigures(
            "operator-only",
            whole,
            [Daily(**msgspec.structs.asdict(each), day=day) for day, each in daily],
            Clips(attributes.get(name), clipped.features, clipped.demands, clipped.unreadable),
            FitTimes(0, 0.0, 0.0)
            if took is None or not took.count
            else FitTimes(took.count, took.total / took.count, took.largest),
            revenue_of(whole, held.product.ceiling),
        )
        return Answer(200, body)

    return (
        Call(
            method="GET",
            path="/v1/operator/products/{name}/figures",
            name="operator_figures",
            tag="operator",
            summary="Raw figures, for the operator alone",
            handler=figures,
            roles=("admin",),
            answers={200: OperatorFigures},
            refusals={404: "unknown product"},
        ),
    )


def revenue_of(figures: Figures, ceiling: float) -> Revenue:
    """Revenue a quote, personal prices against the holdout.

    A quote brings between 0 and the ceiling, so its variance is at most mean (ceiling - mean): the error is a bound.
    """
    personal = _mean(figures.personal_revenue, figures.personal_quotes)
    holdout = _mean(figures.holdout_revenue, figures.holdout_quotes)
    if personal is None or holdout is None:
        return Revenue(_money(personal, ceiling), _money(holdout, ceiling), None, None)
    both = ((personal, figures.personal_quotes), (holdout, figures.holdout_quotes))
    error = math.sqrt(sum(mean * max(0.0, 1.0 - mean) / count for mean, count in both))
    return Revenue(personal * ceiling, holdout * ceiling, (personal - holdout) * ceiling, error * ceiling)


def _mean(total: float, count: int) -> float | None:
    return total / count if count else None


def _money(value: float | None, ceiling: float) -> float | None:
    return None if value is None else value * ceiling
