"""Events: frozen values that an accountant can be written from, and nothing half described."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from hushprice.accounting.events import ContinualCovariance, Event, NotPrivate, PerturbedEstimate
from hushprice.errors import InvalidInput

EVENTS: list[Event] = [ContinualCovariance(34.2, 17, 2), PerturbedEstimate(166.0, 10.0, 2), NotPrivate()]


@pytest.mark.parametrize("event", EVENTS)
def test_events_are_values(event: Event) -> None:
    copy = type(event)(**dataclasses.asdict(event))
    assert copy == event
    assert hash(copy) == hash(event)
    assert sum(event == other for other in EVENTS) == 1


@pytest.mark.parametrize("event", EVENTS)
def test_events_are_frozen(event: Event) -> None:
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        event.noise = 0.0  # type: ignore[misc, union-attr]


@pytest.mark.parametrize("event", EVENTS[:2])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None])
def test_every_field_of_a_private_event_is_checked(event: Event, value: Any) -> None:
    for field in dataclasses.fields(event):
        with pytest.raises(InvalidInput, match=f"^{field.name} must"):
            dataclasses.replace(event, **{field.name: value})


@pytest.mark.parametrize("value", [2.5, True])
def test_counts_are_whole(value: Any) -> None:
    for event, field in [(EVENTS[0], "levels"), (EVENTS[0], "dimension"), (EVENTS[1], "dimension")]:
        with pytest.raises(InvalidInput, match=f"^{field} must be a whole number"):
            dataclasses.replace(event, **{field: value})
