"""Does learning go on? By what gets done, and not only by who says that it works.

A learner may hold its lease and learn nothing: its state cannot be read, a product was set aside, or its loop fails at
every pass. So three things count: that somebody holds the lease, when the holder had last looked at all products, and
for how long slots have been due that are not learned. All three are made of slots and clocks, never of records.
"""

from __future__ import annotations

import logging
import time
from typing import Literal

import msgspec

from hushprice.service.store.decisions import coarse
from hushprice.service.store.protocol import QuoterStore, StoreUnavailable

LATE = 60.0  # seconds that a slot may be due, or a pass take, before learning counts as behind

log = logging.getLogger("hushprice.service")
LearnerStatus = Literal["up", "away", "behind", "unreadable", "stopped"]
TROUBLE = ("behind", "unreadable")  # somebody may hold the lease, and learning does not go on


class LearningHealth(msgspec.Struct, frozen=True):
    """What a process knows of learning."""

    status: LearnerStatus = "away"
    behind: int = 0  # products with slots due for longer than LATE
    set_aside: int = 0
    overdue: float = 0.0  # seconds, of the slot that has been due for longest
    since_look: float = 0.0  # seconds

    def __str__(self) -> str:
        late = f"{self.behind} products have slots due for up to {self.overdue:.0f} s, {self.set_aside} are set aside"
        return f"{self.status}; {late}; all were looked at {self.since_look:.0f} s ago"


def look(store: QuoterStore, before: LearningHealth) -> LearningHealth:
    """How learning does now. A change is logged.

    A part of the store that cannot be read is the learner's trouble alone, where the rest can: prices need none of it.
    """
    try:
        now, why = _health_of(store), ""
    except StoreUnavailable as problem:
        now, why = LearningHealth("unreadable"), f" ({problem})"
    if now.status in TROUBLE and now.status != before.status:
        log.error("learning is %s%s", now, why)
    if now.status == "up" and before.status in TROUBLE:
        log.warning("learning goes on")
    return now


def _health_of(store: QuoterStore) -> LearningHealth:
    progress = store.learning_progress(time.time())
    behind = sum(seconds > LATE for seconds in progress.overdue.values())
    report = progress.report
    troubled = behind or report.set_aside or report.since_look > LATE
    status: LearnerStatus = "away" if not progress.held else "behind" if troubled else "up"
    overdue = coarse(max(progress.overdue.values(), default=0.0))
    return LearningHealth(status, behind, report.set_aside, overdue, report.since_look)
