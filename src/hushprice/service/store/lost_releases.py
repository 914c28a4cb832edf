"""What a restored backup costs: releases that somebody has seen and the store does not have, by the history each is of.

A history is a sequence of releases, each made from the state before it. Where a backup is put back, two histories share
their releases up to the backup and draw apart after it. docs/proofs/operation.md, section 9, is about these decisions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from hushprice.privacy.histories import OVERLAPS, RESTORES
from hushprice.service.store.values import SeenRelease, StoredRelease

MARK = 8  # bytes of a digest, of each release of a history

ACCEPTED = (
    "the service was started without the note of releases that were used, so the store may be an older backup;"
    " records may be in releases of one more history, which nobody can check"
)
COPIED = (
    "the store is a copy of another that may be in use;"
    " records up to slot {slots} may be in releases of both, and count in both"
)
_EARLIER = "an earlier restored backup, which the store had lost with this one"


def digest(numbers: bytes) -> bytes:
    """SHA-256 of a release's numbers. It tells a release from another one of the same sequence: noise is drawn once."""
    return hashlib.sha256(numbers).digest()


class Mark(NamedTuple):
    """A release as a history knows it."""

    sequence: int
    digest: bytes


def lineage_of(marks: Sequence[Mark], before: bytes = b"") -> bytes:
    """The lineage of a history up to the last of these, which are in order; `before` is that of an earlier release."""
    lineage = bytearray(before.ljust(MARK * (marks[-1].sequence if marks else 0), b"\0"))
    for sequence, made in marks:
        lineage[MARK * (sequence - 1) : MARK * sequence] = made[:MARK]
    return bytes(lineage)


def is_on(lineage: bytes, mark: Mark) -> bool:
    """Is the release one of this history? Not where nothing is known of either."""
    found = lineage[MARK * (mark.sequence - 1) : MARK * mark.sequence]
    return len(found) == MARK and found == mark.digest[:MARK]


def one_history(one: SeenRelease, other: SeenRelease) -> bool:
    """Is one of the two a release of the other's history?"""
    return is_on(one.lineage, _mark(other)) or is_on(other.lineage, _mark(one)) or _mark(one) == _mark(other)


def _mark(seen: SeenRelease) -> Mark:
    return Mark(seen.sequence, seen.digest)


class StoreHistory(NamedTuple):
    """What a store knows of its own history when it is told of a lost release."""

    latest: Mark | None  # the last release that it has
    skipped_releases: int
    restores: int
    overlaps: int
    charged: Sequence[SeenRelease]  # lost releases that it has skipped before


class Charge(NamedTuple):
    """A change to be listed."""

    what: str
    detail: str


def charges_of(lost: Sequence[SeenRelease], store: StoreHistory) -> list[Charge]:
    """The changes to list for releases that were lost, each history of theirs once."""
    charges: list[Charge] = []
    done: list[SeenRelease] = []
    for seen in sorted(lost, key=lambda each: each.sequence, reverse=True):
        if any(one_history(seen, other) for other in done):
            continue
        # Has the store released nothing, and been told nothing, outside of the history that was lost?
        shared = store.latest is None or is_on(seen.lineage, store.latest)
        before = shared and not done and store.skipped_releases <= (store.latest.sequence if store.latest else 0)
        apart = before or all(one_history(seen, other) for other in (*done, *store.charged))
        known = (store.restores, store.overlaps) if before else (0, 0)
        restores, overlaps = max(0, seen.restores - known[0]), max(0, seen.overlaps - known[1])
        charges += [Charge(OVERLAPS[0], _EARLIER)] * overlaps
        charges += [Charge(RESTORES[0], _EARLIER)] * max(0, restores - overlaps)
        charges.append(_charge(seen, overlap=not (shared and apart)))
        done.append(seen)
    return charges


def _charge(seen: SeenRelease, *, overlap: bool) -> Charge:
    if not overlap:
        return Charge(
            RESTORES[0],
            f"the store was older than release {seen.sequence}, which a price had used;"
            f" slots up to {seen.records} were charged and are not learned again;"
            " changes by hand since the backup are not listed",
        )
    return Charge(
        OVERLAPS[0],
        f"a price had used release {seen.sequence} of a history that the store had lost, and it was told too late;"
        f" slots up to {seen.records} may be in releases of both, and count in both",
    )


class Skipped(NamedTuple):
    """What a product has gone past, and the lost releases that made it."""

    releases: int
    slots: int
    charged: Sequence[SeenRelease]


def is_known(seen: SeenRelease, skipped: Skipped, numbers: bytes | None) -> bool:
    """Is what somebody has seen the store's own, or charged? `numbers` are of the store's release of that number."""
    if numbers is not None:
        return not seen.digest or seen.digest == digest(numbers)
    passed = seen.sequence <= skipped.releases and seen.records <= skipped.slots
    return passed and any(one_history(seen, other) for other in skipped.charged)


def mark_of(release: StoredRelease) -> Mark:
    """A stored release as a history knows it."""
    return Mark(release.sequence, digest(release.numbers))
