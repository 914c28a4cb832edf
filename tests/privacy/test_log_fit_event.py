"""The event of a fit: what it costs, in closed form, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from hushprice.errors import InvalidInput
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import LogFit
from hushprice.privacy.loss import loss_of

EVENT = LogFit(descriptions=10, scores=6, description_noise=(20.0, 10.0), score_noise=(8.0, 4.0))


def test_squares_of_what_each_release_costs_add_up() -> None:
    for adjacency in Adjacency:
        loss = loss_of(EVENT, 3, adjacency)
        assert loss.mu_squared == pytest.approx(3.0 * (1 / 400 + 1 / 100 + 1 / 64 + 1 / 16), rel=1e-9)
        assert loss.coordinates == 0


def test_live_noise_is_charged_for_cutting_and_rounding_and_for_every_number() -> None:
    live = dataclasses.replace(EVENT, live=True)
    many = dataclasses.replace(live, rows=1000)
    plain, charged, more = (loss_of(each, 1, Adjacency.REPLACE_ONE) for each in (EVENT, live, many))
    assert charged.coordinates == 2 * 10 + 2 * 6
    assert plain.mu_squared < charged.mu_squared < more.mu_squared < plain.mu_squared * (1.0 + 1e-6)
    assert math.sqrt(more.mu_squared) > math.sqrt(plain.mu_squared) * (1.0 + 1000 * 2.0**-40)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"descriptions": 0}, "descriptions"),
        ({"rows": 0}, "rows"),
        ({"description_noise": ()}, "description_noise must have an entry"),
        ({"description_noise": (1.0, 0.0)}, "description_noise"),
        ({"score_noise": ()}, "score_noise must have an entry"),
        ({"score_noise": (1.0, math.nan)}, "score_noise"),
        ({"live": 1}, "live must be True or False"),
    ],
)
def test_events_that_describe_nothing_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        dataclasses.replace(EVENT, **change)
