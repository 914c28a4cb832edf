"""Does a store hold together, after an accident or a killed service? It reads every row, at one moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from hushprice.service.store.lost_releases import digest
from hushprice.service.store.protocol import LearnerStore, UnknownProduct
from hushprice.service.store.values import SeenRelease

Rows = Callable[..., list[tuple[Any, ...]]]  # a query of both databases, and its values

_COUNTS = """WITH at AS (
        SELECT id, slots, skipped_slots, skipped_releases, coalesce(learned, 0) AS learned, service,
            erased_quotes, CASE WHEN skipped_slots > erased_slots THEN skipped_slots ELSE erased_slots END AS gone
        FROM product LEFT JOIN learner ON learner.product = product.id CROSS JOIN clock
        WHERE name = ?),
    own AS (
        SELECT quote.slot, deadline, status, context, learned, service, gone
        FROM at JOIN quote ON quote.product = at.id
        LEFT JOIN record ON record.product = quote.product AND record.slot = quote.slot)
    SELECT slots, skipped_slots, skipped_releases, gone,
        (SELECT count(*) FROM own) + erased_quotes,
        (SELECT count(*) FROM own WHERE slot > gone),
        (SELECT coalesce(sum(quoted), 0) FROM tally WHERE tally.product = at.id),
        (SELECT count(*) FROM record WHERE record.product = at.id AND record.slot <= at.learned),
        (SELECT count(*) FROM own WHERE slot > learned AND slot > gone AND status <> 3 AND context IS NULL),
        (SELECT count(*) FROM own WHERE slot <= learned AND slot > gone AND deadline > service)
    FROM at"""
_RELEASES = """SELECT sequence, kind, records, batch FROM release JOIN product ON product.id = release.product
    WHERE name = ? AND sequence > ? ORDER BY sequence"""
_LEARNER = """SELECT learned, sequence, ledger FROM learner JOIN product ON product.id = learner.product
    WHERE name = ?"""
_SEEN = """SELECT skipped_releases, skipped_slots, numbers,
        (SELECT max(sequence) FROM release AS made WHERE made.product = product.id)
    FROM product LEFT JOIN release ON release.product = product.id AND sequence = ? WHERE name = ?"""


class Inspection(msgspec.Struct, frozen=True):
    """Counts of one product that are compared; "gone" is up to where a restored backup or retention left no quote."""

    slots: int
    skipped_slots: int
    skipped_releases: int
    gone: int
    quotes: int  # with those whose retention has ended
    quotes_after: int  # after what is gone
    counted: int  # quotes in the figures
    contexts_learned: int  # contexts of slots learned: there may be none
    contexts_missing: int  # slots after what is gone, not learned and not forgotten, without one
    learned_early: int  # slots after what is gone, learned, whose deadline the clock has not reached


class _Release(NamedTuple):
    sequence: int
    kind: str
    records: int
    batch: int


class _Learner(NamedTuple):
    learned: int
    sequence: int
    ledger: bytes


def inspect(store: LearnerStore, product: str) -> Inspection:
    """The counts of a product."""
    with store.snapshot() as rows:
        return _inspect(rows, product)


def _inspect(rows: Rows, product: str) -> Inspection:
    found = rows(_COUNTS, product)
    if not found:
        raise UnknownProduct(product)
    return Inspection(*map(int, found[0]))


def problems(store: LearnerStore, noted: Sequence[SeenRelease] = ()) -> list[str]:
    """What is wrong, a line each; nothing if all is well. No record is in a line. `noted`: what a machine has seen."""
    found = []
    with store.snapshot() as rows:
        for (product,) in rows("SELECT name FROM product ORDER BY id"):
            inspected, learner = _inspect(rows, product), rows(_LEARNER, product)
            state = _Learner(*learner[0]) if learner else None
            releases = [_Release(*row) for row in rows(_RELEASES, product, inspected.skipped_releases)]
            told = [
                *_of_slots(inspected, state),
                *_of_ledger(inspected, state, releases),
                *_of_batches(inspected, releases),
            ]
            found += [f"{product}: {line}" for line in told]
        for seen in noted:
            found += [f"{seen.product}: {line}" for line in _of_note(rows, seen)]
    return found


def _of_slots(inspected: Inspection, state: _Learner | None) -> list[str]:
    learned = 0 if state is None else state.learned
    after = inspected.slots - inspected.gone
    checks = {
        f"{learned} slots are learned, {inspected.slots} given": learned > inspected.slots,
        f"{after} slots are given, {inspected.quotes_after} quotes have one": after != inspected.quotes_after,
        f"{inspected.contexts_learned} learned slots still have their contexts": inspected.contexts_learned > 0,
        f"{inspected.contexts_missing} slots have lost their contexts": inspected.contexts_missing > 0,
        f"{inspected.learned_early} slots were learned before their deadlines": inspected.learned_early > 0,
        f"{inspected.quotes} quotes are stored, {inspected.counted} counted": inspected.quotes != inspected.counted,
    }
    return [line for line, wrong in checks.items() if wrong]


def _of_ledger(inspected: Inspection, state: _Learner | None, releases: Sequence[_Release]) -> list[str]:
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


def _of_batches(inspected: Inspection, releases: Sequence[_Release]) -> list[str]:
    """A batch ends with its one score, or with its moments, and the next begins there: so a slot is in one batch."""
    wrong = []
    begins, records = inspected.skipped_slots, 0
    for place, release in enumerate(releases):
        fits = release.batch >= begins if place == 0 and begins else release.batch == begins
        if not fits:
            wrong.append(f"release {release.sequence} is of the batch after slot {release.batch}, not {begins}")
        if release.records <= release.batch or release.records < records:
            wrong.append(f"release {release.sequence} is of {release.records} slots, after {records}")
        begins, records = release.batch if release.kind == "curvature" else release.records, release.records
    return wrong


def _of_note(rows: Rows, seen: SeenRelease) -> list[str]:
    """What this machine has used must be the store's own, or charged."""
    found = rows(_SEEN, seen.sequence, seen.product)
    if not found:
        return [f"release {seen.sequence} was used, and the store has no such product: it is an older backup"]
    skipped, slots, numbers, last = found[0]
    if numbers is not None:
        same = not seen.digest or seen.digest == digest(bytes(numbers))
        return [] if same else [f"another release {seen.sequence} was used than the store has: it is another history"]
    if seen.sequence <= skipped and seen.records <= slots:
        return []
    return [f"release {seen.sequence} was used, the store has {last or 0}: it is an older backup"]
