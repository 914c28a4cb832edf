"""Raw figures, computed from customers' records without noise: for an admin key, on a port of its own."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Literal, NamedTuple

import msgspec

from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.http.routes.products import find
from hushprice.service.learning.learner_state import Clipped, unpack
from hushprice.service.learning.loop import LearningLoop
from hushprice.service.quoting.service_state import Service
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.values import Figures

DAYS = 60  # of the picture by day


class Daily(Figures, frozen=True):
    """One day's figures. Standard errors are of revenue a quote, in currency; null for fewer than two quotes."""

    day: str = ""
    personal_standard_error: float | None = None
    holdout_standard_error: float | None = None


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


class MeanRevenue(msgspec.Struct, frozen=True):
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
    revenue: MeanRevenue


def operator_calls(
    learning: LearningLoop, open_store: Callable[[], LearnerStore], attributes: Mapping[str, int]
) -> tuple[Call, ...]:
    """The calls that only the learner's process has."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hushprice-operator")
    stores: list[LearnerStore] = []

    def raw(name: str) -> tuple[Figures, list[tuple[str, Figures]], Clipped]:
        if not stores:
            stores.append(open_store())
        state = stores[0].state(name)
        clipped = Clipped() if state is None else unpack(state.state).clipped
        return stores[0].figures(name), stores[0].daily_figures(name, DAYS), clipped

    async def figures(service: Service, request: CheckedRequest) -> Answer:
        priced = find(service, request)
        name = priced.product.name
        whole, daily, clipped = await asyncio.get_running_loop().run_in_executor(thread, raw, name)
        fits = learning.fit_seconds.get(name)
        body = OperatorFigures(
            "operator-only",
            whole,
            [daily_of(day, each, priced.product.ceiling) for day, each in daily],
            Clips(attributes.get(name), clipped.features, clipped.demands, clipped.unreadable),
            FitTimes(0, 0.0, 0.0)
            if fits is None or not fits.count
            else FitTimes(fits.count, fits.total / fits.count, fits.largest),
            revenue_of(whole, priced.product.ceiling),
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


def revenue_of(figures: Figures, ceiling: float) -> MeanRevenue:
    """Revenue a quote, personal prices against the holdout. The error takes quotes as independent of each other."""
    personal, holdout = revenue_by_group(figures, ceiling)
    if personal.mean is None or holdout.mean is None:
        return MeanRevenue(personal.mean, holdout.mean, None, None)
    unsure = personal.error is None or holdout.error is None
    error = None if unsure else math.hypot(personal.error or 0.0, holdout.error or 0.0)
    return MeanRevenue(personal.mean, holdout.mean, personal.mean - holdout.mean, error)


def daily_of(day: str, figures: Figures, ceiling: float) -> Daily:
    """A day's figures with their standard errors."""
    personal, holdout = revenue_by_group(figures, ceiling)
    return Daily(
        **msgspec.structs.asdict(figures),
        day=day,
        personal_standard_error=personal.error,
        holdout_standard_error=holdout.error,
    )


class GroupRevenue(NamedTuple):
    """Revenue a quote of one group."""

    mean: float | None
    error: float | None


def revenue_by_group(figures: Figures, ceiling: float) -> tuple[GroupRevenue, GroupRevenue]:
    """Revenue a quote of personal prices, and of the holdout; in currency."""
    return (
        _group_revenue(figures.personal_quotes, figures.personal_revenue, figures.personal_squares, ceiling),
        _group_revenue(figures.holdout_quotes, figures.holdout_revenue, figures.holdout_squares, ceiling),
    )


def _group_revenue(count: int, total: float, squares: float, ceiling: float) -> GroupRevenue:
    if count < 1:
        return GroupRevenue(None, None)
    mean = total / count
    if count < 2:
        return GroupRevenue(mean * ceiling, None)
    variance = max(0.0, squares - count * mean * mean) / (count - 1)  # rounding may take it below zero
    return GroupRevenue(mean * ceiling, math.sqrt(variance / count) * ceiling)
