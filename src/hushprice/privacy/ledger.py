"""The ledger: what was paid for, what has been spent and what that proves, and a refusal of anything else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hushprice import checks
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import Event
from hushprice.privacy.loss import Loss, compose, loss_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of release and how often it may happen or has happened."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        checks.whole(1, count=self.count)
        object.__setattr__(self, "count", int(self.count))  # NumPy's integers lack methods of Python's


def loss_of_all(entries: Iterable[Entry], adjacency: Adjacency) -> Loss:
    """What these releases can reveal together, whatever their order and however each was chosen in view of others."""
    return compose(loss_of(entry.event, entry.count, adjacency) for entry in entries)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """A budget fixed in advance, and the entries spent against it.

    With an `allowance` the releases are planned, as in the paper (cor:privacy-algo): all of it must fit the claim
    before the first price, and what is not in it cannot be spent. Without one anything may be spent that still fits the
    claim, by the stricter rule of a filter (accountant.fits). `claimed` is None where nothing is claimed.
    """

    adjacency: Adjacency
    claimed: EpsilonDelta | None
    allowance: tuple[Entry, ...] | None = None
    spent: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.adjacency, Adjacency):
            raise InvalidInput(f"adjacency must be an Adjacency, got {checks.shown(self.adjacency)}")
        if self.allowance is not None and not self._fits(self.allowance):
            raise InvalidInput(f"claimed must cover the allowance, which needs more than {self.claimed}")
        for entry in self.spent:
            if self.allowance is not None and self.remaining(entry.event) < 0:
                raise BudgetExhausted(f"{entry!r} was spent, which is more than was paid for")
        if self.allowance is None and not self._fits(self.spent):
            raise BudgetExhausted(f"what was spent needs more than {self.claimed}")

    def spend(self, event: Event, count: int = 1) -> Ledger:
        """The ledger after `count` more releases of this kind; refuses what was not paid for.

        Called before noise is drawn, so a refusal means that nothing happened.
        """
        checks.whole(1, count=count)
        if self.allowance is not None:
            left = self.remaining(event)
            if count > left:
                raise BudgetExhausted(f"{count} more of {event!r} would pass the budget: {left} left")
        counts = {entry.event: entry.count for entry in self.spent}
        counts[event] = counts.get(event, 0) + count
        if self.allowance is not None:
            # In the allowance's order, so that a ledger tells what was spent and not when.
            paid = dict.fromkeys(entry.event for entry in self.allowance)
            counts = {kind: counts[kind] for kind in paid if kind in counts}
        return replace(self, spent=tuple(Entry(kind, number) for kind, number in counts.items()))

    def count(self, event: Event) -> int:
        """How often this kind of release has happened."""
        return sum(entry.count for entry in self.spent if entry.event == event)

    def remaining(self, event: Event) -> int:
        """How often it may still happen under the allowance; an unknown kind may never."""
        return sum(entry.count for entry in self.allowance or () if entry.event == event) - self.count(event)

    def epsilon(self, delta: float) -> float:
        """What a plan of just what was spent so far proves at this delta; infinity where no finite epsilon covers it.

        How much was spent depends on releases, so the guarantee of a run is `proven`, which is about the whole plan.
        """
        return accountant.epsilon_of(loss_of_all(self.spent, self.adjacency), delta)

    @property
    def proven(self) -> EpsilonDelta | None:
        """What the whole allowance proves at the claim's delta, spent or not; None where nothing is claimed.

        A filter proves its claim and no less: how little was spent may itself depend on what was released.
        """
        if self.claimed is None or self.allowance is None:
            return self.claimed
        return EpsilonDelta(
            accountant.epsilon_of(loss_of_all(self.allowance, self.adjacency), self.claimed.delta), self.claimed.delta
        )

    def _fits(self, entries: tuple[Entry, ...]) -> bool:
        loss = loss_of_all(entries, self.adjacency)
        if self.claimed is None or not entries:
            return True
        if self.allowance is None:
            return accountant.fits(loss, self.claimed.epsilon, self.claimed.delta)
        return accountant.epsilon_of(loss, self.claimed.delta) <= self.claimed.epsilon
