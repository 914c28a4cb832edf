"""Does a store hold together, after an accident or a killed service? It reads every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from hushprice.service.store.protocol import LearnerStore, UnknownProduct
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import LearnerState, StoredRelease

# Of both databases, which write the product's name and the schema in their own ways.
_COUNTS = """WITH at AS (
        SELECT id, slots, skipped_slots, skipped_releases, coalesce(learned, 0) AS learned, service
        FROM {schema}product LEFT JOIN {schema}learner ON learner.product = product.id CROSS JOIN {schema}clock
        WHERE name = {name}),
    own AS (
        SELECT quote.slot, deadline, status, context, learned, service, skipped_slots
        FROM at JOIN {schema}quote ON quote.product = at.id
        LEFT JOIN {schema}record ON record.product = quote.product AND record.slot = quote.slot)
    SELECT slots, skipped_slots, skipped_releases,
        (SELECT count(*) FROM own),
        (SELECT count(*) FROM own WHERE slot > skipped_slots),
        (SELECT coalesce(sum(quoted), 0) FROM {schema}tally WHERE tally.product = at.id),
        (SELECT count(*) FROM {schema}record WHERE record.product = at.id AND record.slot <= at.learned),
        (SELECT count(*) FROM own WHERE slot > learned AND slot > skipped_slots AND status <> 3 AND context IS NULL),
        (SELECT count(*) FROM own WHERE slot <= learned AND slot > skipped_slots AND deadline > service)
    FROM at"""


class Inspection(msgspec.Struct, frozen=True):
    """Counts of one product that are compared; "after skip" is after what a restored backup had lost."""

    slots: int
    skipped_slots: int
    skipped_releases: int
    quotes: int
    quotes_after_skip: int
    counted: int  # quotes in the figures
    contexts_learned: int  # contexts of slots learned: there may be none
    contexts_missing: int  # slots after skip, not learned and not forgotten, without one
    learned_early: int  # slots after skip, learned, whose deadline the clock has not reached


def inspect(store: Any, product: str) -> Inspection:
    """The counts of a product, past the store's own methods: the service needs none of them."""
    if isinstance(store, SqliteStore):
        rows = store._rows(_COUNTS.format(schema="", name="?"), product)
    else:
        with store._connection.transaction() as connection:
            connection.execute("SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on")
            rows = connection.execute(_COUNTS.format(schema="hushprice.", name="%s").encode(), (product,)).fetchall()
    if not rows:
        raise UnknownProduct(product)
    return Inspection(*map(int, rows[0]))


def problems(store: LearnerStore) -> list[str]:
    """What is wrong, a line each; nothing if all is well. No record is in a line. Nobody may learn meanwhile."""
    found = []
    for product in store.products():
        inspected, state = inspect(store, product.name), store.state(product.name)
        releases = store.releases(product.name, inspected.skipped_releases)
        told = [
            *_of_slots(inspected, state),
            *_of_ledger(inspected, state, releases),
            *_of_batches(inspected, releases),
        ]
        found += [f"{product.name}: {line}" for line in told]
    return found


def _of_slots(inspected: Inspection, state: LearnerState | None) -> list[str]:
    learned = 0 if state is None else state.learned
    after = inspected.slots - inspected.skipped_slots
    checks = {
        f"{learned} slots are learned, {inspected.slots} given": learned > inspected.slots,
        f"{after} slots are given, {inspected.quotes_after_skip} quotes have one": after != inspected.quotes_after_skip,
        f"{inspected.contexts_learned} learned slots still have their contexts": inspected.contexts_learned > 0,
        f"{inspected.contexts_missing} slots have lost their contexts": inspected.contexts_missing > 0,
        f"{inspected.learned_early} slots were learned before their deadlines": inspected.learned_early > 0,
        f"{inspected.quotes} quotes are stored, {inspected.counted} counted": inspected.quotes != inspected.counted,
    }
    return [line for line, wrong in checks.items() if wrong]


def _of_ledger(inspected: Inspection, state: LearnerState | None, releases: Sequence[StoredRelease]) -> list[str]:
    """What was charged is what was released; `releases` are those after what a restored backup had lost."""
    skipped = inspected.skipped_releases
    made, spent = skipped + len(releases), 0 if state is None else state.sequence
    if state is None and not releases:  # nothing was learned yet, or a backup was restored and no learner has come
        return []
    ledger: dict[str, Any] = {} if state is None else msgspec.json.decode(state.ledger)
    learned = 0 if state is None else state.learned
    charged = ledger.get("releases", spent)
    checks = {
        f"the learner has made {spent} releases, the store has {made}": spent != made and not spent < skipped == made,
        f"the ledger has {charged} releases, the learner {spent}": charged != spent,
        "releases are not numbered one by one": [r.sequence for r in releases] != [*range(skipped + 1, made + 1)],
        "a release was made of slots that are not learned": any(r.records > learned for r in releases),
    }
    return [line for line, wrong in checks.items() if wrong]


def _of_batches(inspected: Inspection, releases: Sequence[StoredRelease]) -> list[str]:
    """A batch ends with its one score, and the next begins there: so a slot is in one batch."""
    wrong = []
    begins, records = inspected.skipped_slots, 0
    for place, release in enumerate(releases):
        fits = release.batch >= begins if place == 0 and begins else release.batch == begins
        if not fits:
            wrong.append(f"release {release.sequence} is of the batch after slot {release.batch}, not {begins}")
        if release.records <= release.batch or release.records < records:
            wrong.append(f"release {release.sequence} is of {release.records} slots, after {records}")
        begins, records = release.records if release.kind == "score" else release.batch, release.records
    return wrong
