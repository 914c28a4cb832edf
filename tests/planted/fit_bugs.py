"""Bugs in the fit of a log: what a unit is held to, how often it counts, its noise, and what survives a crash."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from tests.planted.planting import Bug, changed

from hushprice.logs.fit import description, run_fit, score_plan, unfinished, whole_sums
from hushprice.logs.fit.score_plan import ScorePlan
from hushprice.logs.fit.unfinished import Unfinished
from hushprice.logs.fit.whole_sums import Adding
from hushprice.privacy import loss
from hushprice.privacy.loss import Loss
from hushprice.research.audits import log_fits


def _unheld(owner: Any, name: str, at: int, bounds: int) -> Bug:
    """What `owner` calls to hold columns is given a length beyond all rows."""

    def make(real: Any) -> Any:
        def called(*given: Any) -> None:
            wide = given[bounds].copy()
            wide[at] = 1e6
            real(*given[:bounds], wide, *given[bounds + 1 :])

        return called

    return changed(owner, name, make)


description_not_held = _unheld(description, "description_columns", 0, 4)
instruments_not_held = _unheld(score_plan, "score_columns", 2, 7)
description_change_halved = changed(whole_sums, "described", lambda real: lambda *given: 2.0 * real(*given))
second_description_grows = changed(
    whole_sums, "described", lambda real: lambda x, z, plan: real(x, z, plan) * (1.0 if plan is None else 1.5)
)
score_not_divided = changed(
    ScorePlan, "contributions", lambda real: lambda self, *rows: real(self, *rows) * (1.0 + self.largest)
)
rows_summed_not_averaged = changed(Adding, "unit_weights", lambda real: lambda self, block: np.ones(len(block.prices)))
noise_halved = changed(
    log_fits, "published", lambda real: lambda total, noise, source, number: real(total, 0.5 * noise, source, number)
)
last_score_not_charged = changed(
    loss,
    "_of_log_fit",
    lambda real: (
        lambda event, count: Loss(
            mu_squared=real(event, count).mu_squared - count / event.score_noise[-1] ** 2,
            coordinates=real(event, count).coordinates,
        )
    ),
)


def _together(numbers: Any, weights: Any, unit: float, total: Any) -> None:
    total += np.trunc((numbers * weights).sum(axis=1) * unit).astype(np.int64)


rows_rounded_together = changed(whole_sums, "add_whole", lambda real: _together)
row_in_two_pieces = changed(
    Adding,
    "_added",
    lambda real: (
        lambda self, block, weights, rows: real(self, block, weights, slice(max(rows.start - 1, 0), rows.stop))
    ),
)
weights_by_outcome = changed(
    ScorePlan,
    "contributions",
    lambda real: lambda self, x, z, y: real(self, x, z, y) * np.where(y > 0.5, 2.0, 1.0)[:, None],
)
any_plan_is_added_up = changed(Adding, "__post_init__", lambda real: lambda self: None)
a_removed_lock_is_held = changed(unfinished.os.path, "samestat", lambda real: lambda one, other: True)
releases_forgotten = changed(Unfinished, "releases", lambda real: property(lambda self: []))
releases_not_kept = changed(Unfinished, "keep", lambda real: lambda self, released: None)
two_at_once = changed(run_fit, "locked", lambda real: lambda output: nullcontext())
