"""The ledger: what was paid for, what has been spent, and a refusal of anything else."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hushprice import checks
from hushprice.accounting.adjacency import Adjacency
from hushprice.accounting.budget import EpsilonDelta
from hushprice.accounting.events import Event
from hushprice.errors import BudgetExhausted


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of release and how often it may happen or has happened."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        checks.whole(1, count=self.count)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """An allowance fixed in advance, and the entries spent against it.

    The paper reserves the whole budget before the first price (cor:privacy-algo): `claimed` is that reservation,
    whatever has been spent so far, and None when nothing is claimed. What is not in the allowance cannot be spent.
    """

    adjacency: Adjacency
    claimed: EpsilonDelta | None
    allowance: tuple[Entry, ...]
    spent: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        for entry in self.spent:
            if self.remaining(entry.event) < 0:
                raise BudgetExhausted(f"{entry!r} was spent, which is more than was paid for")

    def spend(self, event: Event, count: int = 1) -> Ledger:
        """The ledger after `count` more releases of this kind; refuses what was not paid for.

        Called before noise is drawn, so a refusal means that nothing happened.
        """
        checks.whole(1, count=count)
        left = self.remaining(event)
        if count > left:
            raise BudgetExhausted(f"{count} more of {event!r} would pass the budget: {left} left")
        counts = {entry.event: entry.count for entry in self.spent}
        counts[event] = counts.get(event, 0) + count
        # In the allowance's order, so that a ledger tells what was spent and not when.
        paid = dict.fromkeys(entry.event for entry in self.allowance)
        return replace(self, spent=tuple(Entry(kind, counts[kind]) for kind in paid if kind in counts))

    def count(self, event: Event) -> int:
        """How often this kind of release has happened."""
        return sum(entry.count for entry in self.spent if entry.event == event)

    def remaining(self, event: Event) -> int:
        """How often it may still happen; an unknown kind may never."""
        return sum(entry.count for entry in self.allowance if entry.event == event) - self.count(event)
