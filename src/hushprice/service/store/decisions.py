"""The decisions of a store that a guarantee rests on, one line each, and what is counted for the operator.

`postgres_functions.sql` makes the same decisions in the database, where a quoter's role cannot see what they read.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from hushprice.errors import InvalidInput
from hushprice.privacy import histories
from hushprice.service.store.protocol import GRACE, LEASE, SKEW, LeaseLost
from hushprice.service.store.values import (
    UNPRICED,
    Figures,
    LearnerState,
    NewOutcome,
    NewQuote,
    QuoteAnswer,
    SeenRelease,
    StoredRelease,
)

WAITING, RECORDED, LATE, FORGOTTEN = range(4)
DEFAULT_BOUND = 10.0  # of a Poisson product that declares none
_IS_ID = re.compile("[0-9a-f]{32}")

COUNTED = (
    "quoted",
    "bought",
    "declined",
    "expired",
    "repeated",
    "conflicting",
    "late",
    "over_cap",
    "forgotten",
    "holdout_quotes",
    "holdout_revenue",
    "personal_quotes",
    "personal_revenue",
    "holdout_squares",
    "personal_squares",
)
_SUMMED = ("revenue", "squares")  # the others are counts


def in_time(clock: float, deadline: float) -> bool:
    """May an outcome still be taken? `is_due` is the opposite: a slot is never learned while its outcome may change."""
    return clock < deadline


def is_due(clock: float, deadline: float) -> bool:
    """May a slot be learned? Once the clock has reached its deadline."""
    return deadline <= clock


def held_until(now: float) -> tuple[float, float]:
    """A lease is held now if it lasts longer than the first of these, and not longer than the second.

    >>> held_until(100.0)
    (100.0, 110.0)
    """
    return now, now + LEASE + SKEW


def coarse(seconds: float) -> float:
    """Seconds that anybody may be told: in tens, and never below zero. How long a fit takes depends on records.

    >>> coarse(-3600.0), coarse(9.9), coarse(75.2)
    (0.0, 0.0, 70.0)
    """
    return max(0.0, seconds // 10.0 * 10.0)


def within_cap(counted: int, cap: int | None, known: bool) -> bool:
    """Does one more record count? A customer without a key cannot be held to a cap, so no record of theirs counts."""
    return cap is None or (known and counted < cap)


def clock_after_beat(
    service: float, beat: float | None, behind: float | None, now: float
) -> tuple[float, float, float | None]:
    """The clock after a beat: (service, beat, behind).

    Of several clocks the one that is ahead counts, beat by beat. Where it has been silent for GRACE (its machine is
    gone, or somebody set the clock back), those behind it take over from where they are. The service's clock itself
    never goes back, and never moves by more than GRACE at once.

    >>> clock_after_beat(10.0, 100.0, None, 100.5), clock_after_beat(10.0, 100.0, None, 200.0)
    ((10.5, 100.5, None), (10.0, 200.0, None))
    >>> clock_after_beat(10.0, 100.0, None, 90.0), clock_after_beat(10.0, 100.0, 85.0, 90.0)
    ((10.0, 100.0, 90.0), (10.0, 90.0, None))
    """
    if beat is None or now > beat + GRACE:
        return service, now, None
    if now >= beat:
        return service + (now - beat), now, None
    if behind is not None and now >= behind + GRACE:
        return service, now, None
    return service, beat, now if behind is None else min(behind, now)


def check_written(quotes: Sequence[NewQuote], outcomes: Sequence[NewOutcome]) -> None:
    """Refuse numbers that are not finite: SQLite would turn one into no outcome at all."""
    if not all(math.isfinite(outcome.demand) for outcome in outcomes):
        raise InvalidInput("demand: must be a finite number")
    if not all(math.isfinite(quote.price) and math.isfinite(quote.window) for quote in quotes):
        raise InvalidInput("price, window: must be finite numbers")
    if not all(quote.propensity is None or 0.0 < quote.propensity <= 1.0 for quote in quotes):  # NaN fails
        raise InvalidInput("propensity: must be a probability above 0, or none")


def is_unpriced(price: float) -> bool:
    """Does a quote with this price take a device's report, and no outcome?"""
    return price == UNPRICED


def largest_demand(spec: bytes) -> float:
    """The largest outcome that a quote of the product can have, by its declaration.

    >>> largest_demand(b'{"family": "logistic"}'), largest_demand(b'{"family": "poisson", "bound": 5}')
    (1.0, 5.0)
    >>> largest_demand(b'{"family": "logistic", "most": 3.0}')
    3.0
    """
    declared = msgspec.json.decode(spec, type=_DeclaredDemand)
    if declared.family == "poisson":
        return DEFAULT_BOUND if declared.bound is None else declared.bound
    if declared.family == "logistic":
        return 1.0 if declared.most is None else declared.most
    return math.inf


class _DeclaredDemand(msgspec.Struct, frozen=True):
    family: str | None = None
    bound: float | None = None
    most: float | None = None


def fresh_answer(quote: NewQuote) -> QuoteAnswer:
    """The answer to a quote that is stored as it was asked."""
    return QuoteAnswer(quote.id, quote.charged, quote.expires, quote.version, True, propensity=quote.propensity)


class Progress(NamedTuple):
    """Where a product is, by the number of its row."""

    product: int
    slots: int
    learned: int
    sequence: int
    skipped: int
    skipped_releases: int


def check_state(state: LearnerState, releases: Sequence[StoredRelease], at: Progress) -> None:
    """Refuse a state that cannot follow the stored one: only releases numbered without gaps equal the ledger."""
    learned, sequence = max(at.learned, at.skipped), max(at.sequence, at.skipped_releases)
    if learned > state.learned or sequence > state.sequence - len(releases):
        raise LeaseLost(f"{state.product}: another learner is at slot {learned}, release {sequence}")
    numbers = [(release.product, release.sequence) for release in releases]
    if numbers != [(state.product, number) for number in range(sequence + 1, state.sequence + 1)]:
        raise InvalidInput(f"releases: must be the product's own, numbered {sequence + 1} to {state.sequence}")
    if state.learned > at.slots:
        raise InvalidInput(f"learned: must be at most {at.slots}, the slots given, got {state.learned}")


def release_row(product: int, release: StoredRelease) -> tuple[Any, ...]:
    """A release as the table of releases has it: the product by its number."""
    return (product, *msgspec.structs.astuple(release)[1:])


def first_due(product: str, after: int, at: Progress) -> int:
    """The slot that may be handed out next: none that was learned, and none that a lost release was made of."""
    if after < at.learned:
        raise LeaseLost(f"{product}: another learner has learned slot {at.learned}")
    return max(after, at.skipped) + 1


def reference_detail(price: float) -> str:
    """The detail of a change "reference price"."""
    return f"{price:g} of the ceiling"


def check_nothing_lost(product: str, lost: object) -> None:
    """Refuse a commit while somebody has seen a release that the store does not have: it may hold the same records."""
    if lost is not None:
        raise LeaseLost(f"{product}: a release was seen that the store does not have")


def skip_target(seen: SeenRelease, at: Progress, lost: object) -> SeenRelease | None:
    """The number and the slot to go on after; None where that was done. A number that is taken is never used again."""
    if at.skipped >= seen.records and at.skipped_releases >= seen.sequence and lost is None:
        return None
    highest = max(at.sequence, at.skipped_releases)
    # One above what was made: a learner that stopped between this and its next state finds that it is behind.
    sequence = seen.sequence if seen.sequence > highest else highest + 1
    return SeenRelease(seen.product, sequence, max(seen.records, at.learned, at.skipped))


def passed(lost: Sequence[SeenRelease], to: SeenRelease) -> list[SeenRelease]:
    """Those of the lost releases that are skipped with `to`."""
    return [each for each in lost if each.sequence <= to.sequence and each.records <= to.records]


class Outdated(NamedTuple):
    """Quotes of days before this one, at most so many at once."""

    before: int
    limit: int

    def of(self, rows: Iterable[tuple[int, int, bytes | None, bool]]) -> tuple[list[int], Counter[bytes]]:
        """The slots to erase, and how many records each customer has in them; rows are (slot, day, customer, counts).

        In order of slots, so that what is gone is known by the highest of them.
        """
        gone = list(takewhile(lambda row: row[1] < self.before, rows))
        counted = Counter(customer for _, _, customer, counts in gone if counts and customer is not None)
        return [slot for slot, *_ in gone], counted


def quote_id(text: str) -> bytes | None:
    """The 16 bytes of a quote's id; None where it is no such id."""
    return bytes.fromhex(text) if _IS_ID.fullmatch(text) else None  # `fromhex` alone passes over blanks


def today() -> int:
    """Days since 1970, UTC."""
    return int(time.time() // 86400)


def day_name(day: int) -> str:
    """The UTC date of a day.

    >>> day_name(0)
    '1970-01-01'
    """
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()


def figures_of(counted: Sequence[float]) -> Figures:
    """Figures from the numbers named in COUNTED, in that order. A quote that is not waiting is in one of the others."""
    pairs = zip(COUNTED, counted, strict=True)
    named: dict[str, Any] = {name: float(n) if name.endswith(_SUMMED) else int(n) for name, n in pairs}
    waiting = named["quoted"] - sum(named[name] for name in ("bought", "declined", "expired", "forgotten"))
    return Figures(waiting=waiting, **named)


class DayCounts:
    """Counts of one transaction by product and day, added to the stored ones at its end."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], dict[str, float]] = {}

    def add(self, product: int, day: int, name: str, amount: float = 1) -> None:
        """Add to one count of a product and a day."""
        counts = self._counts.get((product, day))
        if counts is None:
            counts = self._counts[product, day] = dict.fromkeys(COUNTED, 0)
        counts[name] += amount

    def rows(self) -> list[tuple[float, ...]]:
        """The counts as rows for TALLY."""
        return [(*product_day, *counts.values()) for product_day, counts in self._counts.items()]


TALLY = (
    f"INSERT INTO tally (product, day, {', '.join(COUNTED)}) VALUES (?, ?{', ?' * len(COUNTED)})"
    f" ON CONFLICT DO UPDATE SET {', '.join(f'{name} = {name} + excluded.{name}' for name in COUNTED)}"
)

STATUS = "CASE WHEN retired IS NULL THEN status ELSE 'retired' END"
_LISTED = "SELECT count(*) FROM {{schema}}change WHERE change.product = product.id AND what IN {}"
RESTORES, OVERLAPS = _LISTED.format(histories.RESTORES), _LISTED.format(histories.OVERLAPS)
