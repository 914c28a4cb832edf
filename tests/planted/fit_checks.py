"""What must hold of a fit of a log: each release keeps to what is charged, and none is drawn twice."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.logs.fit.fit_logs import PRODUCT, drawn, state_of
from tests.logs.fit.test_run_fit import test_a_lock_that_its_owner_removed_is_none

import hushprice
from hushprice.errors import InvalidInput
from hushprice.logs.fit.fit_noise import calibrate_fit
from hushprice.logs.fit.score_plan import ScorePlan
from hushprice.logs.fit.whole_sums import AT_ONCE, Adding
from hushprice.logs.passes import run_pass
from hushprice.logs.rows import LogRows
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product
from hushprice.research.audits.log_fits import audit_fit

_AUDITED = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.1, contexts=2)


def fits_keep_to_what_is_charged() -> None:
    """Rows and customers at all corners and far out of bounds; exact, no chance is involved."""
    calibrate_fit.cache_clear()  # a planted accountant must be asked, and not be remembered
    try:
        for rows in (1, 3):
            for found in audit_fit(_AUDITED, EpsilonDelta(1.0, 1e-6), rows=rows):
                assert found.holds, found
    finally:
        calibrate_fit.cache_clear()


def what_a_row_adds_to_a_fit_it_adds_alone() -> None:
    """Bit for bit, however many come with it."""
    (block,) = drawn(30, 3).blocks(0)
    plan = state_of(drawn(200, 4), 1.0).scores[0].plan
    for adding in (Adding(1), Adding(1, plan)):
        alone = [adding(LogRows(*(part[i : i + 1] for part in block[:3]), None, None, i)) for i in range(30)]
        assert np.array_equal(np.sum(alone, axis=0), adding(block))


def a_row_of_a_long_block_adds_what_it_adds_once() -> None:
    """So many alike add as many times as much: no row is in two of the pieces that a block is added up in, or none."""
    plan, many = state_of(drawn(200, 4), 1.0).scores[0].plan, 2 * AT_ONCE + 3
    for adding in (Adding(1), Adding(1, plan)):
        x, z, y = np.full((many, 2), 0.3), np.full(many, -0.4), np.ones(many)
        one = adding(LogRows(x[:1], z[:1], y[:1], None, None, 0))
        assert np.array_equal(adding(LogRows(x, z, y, None, None, 0)), many * one)


def an_interrupted_fit_draws_nothing_twice() -> None:
    """Stopped after two releases, and called again."""

    def broken(log: Any, add: Any, size: int, **given: Any) -> list[int]:
        if isinstance(add.plan, ScorePlan):
            raise KeyboardInterrupt
        return run_pass(log, add, size, **given)

    with tempfile.TemporaryDirectory() as folder:
        path, part = Path(folder) / "fit.json", Path(folder) / "fit.json.part"
        with suppress(KeyboardInterrupt):
            hushprice.fit(drawn(300), product=PRODUCT, epsilon=1.0, output=path, run=broken)
        assert part.exists()
        kept = json.loads(part.read_bytes())["releases"]
        found = hushprice.fit(drawn(300), product=PRODUCT, epsilon=1.0, output=path)
        assert len(kept) == 2
        assert [list(each) for each in found.releases[:2]] == kept


def one_output_is_for_one_process() -> None:
    def again(log: Any, add: Any, size: int, **given: Any) -> list[int]:
        with pytest.raises(InvalidInput, match="by another process"):
            hushprice.fit(drawn(50), product=PRODUCT, epsilon=1.0, output=path)
        return run_pass(log, add, size, **given)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.json"
        try:
            hushprice.fit(drawn(50), product=PRODUCT, epsilon=1.0, output=path, run=again)
        except BaseException as problem:
            raise AssertionError("two fits drew noise for one output") from problem


def a_lock_that_is_gone_is_none() -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        try:
            test_a_lock_that_its_owner_removed_is_none(Path(folder), patch, third=True)
        except BaseException as problem:  # of pytest's, which is no Exception
            raise AssertionError("two processes held one output") from problem


def plans_beyond_the_proof_are_refused() -> None:
    """Own parts so long that two rows are 1.4 apart."""
    plan = state_of(drawn(200, 4), 1.0).scores[0].plan
    wide = replace(plan, weights=np.array([0.7, 0.5, 0.5, 0.0, 0.0, 0.0]), largest=0.2)
    try:
        Adding(1, wide)
    except InvalidInput:
        return
    raise AssertionError("a plan was added up that the proof does not cover")


def sums_of_a_fit_are_zero_at_the_truth() -> None:
    """What a score adds up has mean zero where the model is true: within five deviations of it, 1 in 1e5 by chance."""
    log = drawn(40_000, 7, np.zeros(6))
    plan = state_of(drawn(200, 4), 1.0).scores[0].plan
    rows = plan.contributions(log.contexts, log.prices, log.demands)
    assert not plan.theta.any()
    assert np.all(np.abs(rows.sum(axis=0)) <= 5.0 * np.sqrt((rows * rows).sum(axis=0)) + 1e-12)
