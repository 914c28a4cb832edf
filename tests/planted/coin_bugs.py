"""Bugs in how policy cautious is run: coins and holdouts that a record turns, releases that are drawn again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.planted.planting import changed

from hushprice.policies.cautious import saved
from hushprice.policies.cautious.engine import CautiousEngine
from hushprice.service.learning import product_learner
from hushprice.service.shared import quote_ids


def _coin_of_the_purchase(real: Callable[..., Any]) -> Callable[..., Any]:
    def records(*given: Any) -> Any:
        made = real(*given)
        return made._replace(coins=np.where(made.demands > 0.0, 1.0, -1.0))

    return records


def _holdout_of_the_purchase(real: Callable[..., Any]) -> Callable[..., Any]:
    def records(*given: Any) -> Any:
        made = real(*given)
        return made._replace(holdout=made.holdout | (made.demands > 0.0))

    return records


def _unreadable_moved(real: Callable[..., Any]) -> Callable[..., Any]:
    """A slot that holds no record is left out: the batch then ends with a later one."""

    def steps(self: CautiousEngine, records: Any, skipped: int, skipped_holdout: int = 0) -> Any:
        return real(self, records, 0, 0)

    return steps


def _release_forgotten(real: Callable[..., Any]) -> Callable[..., Any]:
    def restore(state: Any, engine: CautiousEngine) -> None:
        real(state, engine)
        engine.learner.last = None

    return restore


def _clock_in_front(real: Callable[..., str]) -> Callable[..., str]:
    def new_id(secret: bytes, key: str, drawn: bytes, now: float) -> str:
        made = real(secret, key, drawn, now)
        return made[20:24] + made[:20] + made[24:]

    return new_id


coin_of_the_purchase = changed(product_learner, "priced_records", _coin_of_the_purchase)
holdout_of_the_purchase = changed(product_learner, "priced_records", _holdout_of_the_purchase)
unreadable_slots_left_out = changed(CautiousEngine, "steps", _unreadable_moved)
release_forgotten_on_restart = changed(saved, "restore_engine", _release_forgotten)
coin_of_the_clock = changed(quote_ids, "new_id", _clock_in_front)
