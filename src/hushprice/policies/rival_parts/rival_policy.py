"""A rival as a policy: what it is asked for, what it promises, and how a trial begins it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.protocol import Policy
from hushprice.policies.rival_parts.frame import Customers, Frame, market_frame
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import Event
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.loss import compose, loss_of
from hushprice.settings import PolicySettings
from hushprice.types import FloatArray

KERNEL = "rivals"
NOTHING, EVERYTHING, OUTCOMES = "nothing", "contexts and outcomes", "outcomes"  # what a rival protects


class Rival(Protocol):
    """One trial of a rival. Between two refits prices do not depend on each other."""

    @property
    def due(self) -> int:
        """How many more customers are priced before something may change; at least 1."""
        ...

    def prices(self, customers: Customers) -> FloatArray:
        """For at most `due` customers."""
        ...

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        """What those did who were last priced."""
        ...


Begin = Callable[[Frame, np.random.Generator], Rival]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a rival may be told besides its frame. Without noise (`drawn`) nothing is claimed."""

    name: str
    claimed: EpsilonDelta
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    calibration: str = "tight"
    width: float | None = None
    drawn: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class RivalPolicy(Policy):
    """A rival with every choice made. `events` are all it will ever release, each once."""

    kernel: ClassVar[str | None] = KERNEL

    frame: Frame
    begin: Begin = field(compare=False)
    protects: str = NOTHING
    events: tuple[Event, ...] = ()
    noised: bool = False  # the budget decides its noise, though that bounds nothing in our sense
    own: dict[str, Any] = field(default_factory=dict)  # its settings, as resolved

    def __post_init__(self) -> None:
        super(RivalPolicy, self).__post_init__()
        if self.claimed is None:
            return
        if not self.events or self.protects != EVERYTHING:
            raise InvalidInput(f"policy {self.name!r} may claim nothing: it protects {self.protects}")
        open_ledger(self.events, self.claimed, self.adjacency)  # refuses a claim that the noise does not prove
        if self.proven != proven_by(self.events, self.claimed, self.adjacency):
            raise InvalidInput(f"proven must be what the accountant gets for the noise, got {self.proven}")

    @property
    def reads_budget(self) -> bool:
        """Its noise follows from it, where there is any."""
        return bool(self.events) or self.noised

    @property
    def settings(self) -> dict[str, Any]:
        """Its choices by the names of settings.py."""
        return dict(self.own)


def proven_by(events: tuple[Event, ...], claimed: EpsilonDelta, adjacency: Adjacency) -> EpsilonDelta:
    """What the accountant gets for everything a rival releases, at the claim's delta."""
    loss = compose(loss_of(event, 1, adjacency) for event in events)
    return EpsilonDelta(accountant.epsilon_of(loss, claimed.delta), claimed.delta)


def open_ledger(events: tuple[Event, ...], claimed: EpsilonDelta, adjacency: Adjacency) -> Ledger:
    """An empty ledger that allows these events, each once, and nothing else."""
    return Ledger(adjacency=adjacency, claimed=claimed, allowance=tuple(Entry(event, 1) for event in events))


Make = Callable[[Asked, Frame], RivalPolicy]


def built(make: Make, settings: PolicySettings, demand: Demand, features: FeatureMap) -> RivalPolicy:
    """The rival that the settings ask for, in a market."""
    asked = Asked(
        name=settings.policy,
        claimed=settings.budget.total,
        adjacency=settings.neighbours,
        calibration=settings.calibration,
        width=settings.width,
    )
    return make(asked, market_frame(demand, features, settings.horizon, settings.policy))


def unprotected(asked: Asked, frame: Frame, begin: Begin, **own: Any) -> RivalPolicy:
    """A rival without any promise."""
    return RivalPolicy(name=asked.name, frame=frame, begin=begin, horizon=frame.horizon, own=own)


def guarded(
    asked: Asked, frame: Frame, begin: Begin, *events: Event | None, claimed: EpsilonDelta, **own: Any
) -> RivalPolicy:
    """A rival that promises `claimed` for contexts and outcomes; without an event, nothing."""
    given = tuple(event for event in events if event is not None)
    return RivalPolicy(
        name=asked.name,
        calibration=own.get("calibration"),
        horizon=frame.horizon,
        frame=frame,
        begin=begin,
        protects=EVERYTHING if given else NOTHING,
        events=given,
        adjacency=asked.adjacency,
        claimed=claimed if given else None,
        proven=proven_by(given, claimed, asked.adjacency) if given else None,
        own=own,
    )
