"""Bugs in the running service: when slots are due, what late purchases change, restarts, and whose records count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.planted.planting import changed, together

from hushprice.policies.newton.pricing import customer_price
from hushprice.price_search.certified import STACK
from hushprice.privacy import earlier
from hushprice.privacy.certificates import batch_facts
from hushprice.service.learning.loop import LearningLoop
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared import certificates
from hushprice.service.store import decisions, lost_releases, sqlite_learner
from hushprice.service.store.sqlite import SqliteStore


def _due_when_complete(real: Callable[..., Any]) -> Callable[..., Any]:
    def due(connection: Any, *given: Any) -> Any:
        (waiting,) = connection.execute("SELECT count(*) FROM quote WHERE status = 0").fetchone()
        with pytest.MonkeyPatch.context() as patch:
            if not waiting:
                patch.setattr(decisions, "is_due", lambda clock, deadline: True)
            return real(connection, *given)

    return due


def _noise_forgotten(real: Callable[..., Any]) -> Callable[..., Any]:
    def restore(self: ProductLearner, stored: Any) -> None:
        real(self, stored)
        if self._engine is not None and self._engine.learner.blocks > 0:
            # The curvature since the batch began is summed up again, and drawn with fresh noise.
            self._engine.learner.blocks, self._engine.learner.last_curvature = 0, None
            self._engine.learner.batch.begin(self._engine.learner.level)

    return restore


def _every_slot_counts(real: Callable[..., Any]) -> Callable[..., Any]:
    def records(self: ProductLearner, slots: Any) -> Any:
        return real(self, [msgspec.structs.replace(slot, counts=True) for slot in slots])

    return records


def _charged_slots_learned_again(real: Callable[..., Any]) -> Callable[..., Any]:
    def behind(self: LearningLoop, product: Any, seen: Any) -> ProductLearner:
        return self._read(product)

    return behind


def _one_scratch_for_all(real: Callable[..., Any]) -> Callable[..., Any]:
    plain, work = getattr(real, "py_func", real), np.empty(STACK)
    parts: dict[int, Any] = {}

    def price(*given: Any) -> Any:
        return plain(*given[:-2], parts.setdefault(given[5].size, np.empty((2, given[5].size))), work)

    return price


def _caps_erased(real: Callable[..., Any]) -> Callable[..., Any]:
    def erase_quotes(connection: Any, product: str, outdated: Any, capped: bool) -> Any:
        return real(connection, product, outdated, False)

    return erase_quotes


def _without_restores(real: Callable[..., Any]) -> Callable[..., Any]:
    def guarantee(products: Any, delta: float, *earlier: Any) -> Any:
        return real([(loss, cap, 0) for loss, cap, _ in products], delta, *earlier)

    return guarantee


def _looked_at_when_told(real: Callable[..., Any]) -> Callable[..., Any]:
    def products_to_learn(self: SqliteStore) -> list[str]:
        silent = "SELECT 1 FROM quote WHERE status = 0"
        return [] if self._rows(silent) else real(self)

    return products_to_learn


release_when_outcomes_are_in = together(
    changed(sqlite_learner, "due", _due_when_complete),
    changed(SqliteStore, "products_to_learn", lambda real: lambda self: [each.name for each in self.products()]),
)
products_looked_at_when_outcomes_are_in = changed(SqliteStore, "products_to_learn", _looked_at_when_told)
late_purchase_revises = changed(decisions, "in_time", lambda real: lambda clock, deadline: True)
redrawn_after_restart = changed(ProductLearner, "restore", _noise_forgotten)
over_cap_counted_by_the_store = changed(decisions, "within_cap", lambda real: lambda counted, cap, known: True)
over_cap_counted_by_the_learner = changed(ProductLearner, "_records", _every_slot_counts)
backup_taken_for_the_truth = together(
    changed(LearningLoop, "_skip_lost", _charged_slots_learned_again),
    changed(decisions, "check_nothing_lost", lambda real: lambda product, lost: None),
)
releases_told_apart_by_number = changed(
    lost_releases, "is_known", lambda real: lambda seen, *more: real(msgspec.structs.replace(seen, digest=b""), *more)
)
overlap_taken_for_a_restore_told_in_time = changed(lost_releases, "is_on", lambda real: lambda lineage, mark: True)
overlaps_free_for_records = changed(earlier, "in_histories", lambda real: lambda loss, histories: loss)
retention_that_forgets_caps = changed(sqlite_learner, "erase_quotes", _caps_erased)
certified_without_a_note = changed(
    ProductTable, "certificate", lambda real: lambda self, store, product: store.certificate(product)
)
shown_without_a_note = changed(ProductTable, "note", lambda real: lambda self, store, products: [])
restored_backups_free_for_customers = together(
    changed(certificates, "guarantee_after", _without_restores),
    changed(batch_facts, "guarantee_after", _without_restores),
)
scratch_shared_by_customers = changed(customer_price, "price_of_customer", _one_scratch_for_all)
