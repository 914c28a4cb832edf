"""A rival as a policy: what it is asked for, what it promises, and how a trial begins it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies import POLICIES
from hushprice.policies.protocol import Policy
from hushprice.policies.rival_parts.frame import Customers, Frame, market_frame
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import BitReports, CovarianceStream, DirectionReports, Event, grid_of
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.loss import compose, loss_of
from hushprice.settings import PolicySettings
from hushprice.types import FloatArray

KERNEL = "rivals"
_GRIDS = 1e-3  # of epsilon: more than exact noise costs beside real numbers (docs/proofs/discrete_noise.md)
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


Begin = Callable[..., Rival]  # of a frame, a generator, and a source of noise where that is drawn live


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a rival may be told besides its frame. Without noise (`drawn`) nothing is claimed."""

    name: str
    claimed: EpsilonDelta
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    calibration: str = "tight"
    width: float | None = None
    drawn: bool = True
    live: bool = False  # is noise exact and on grids, for a live pricer?

    @property
    def buys(self) -> EpsilonDelta:
        """What Gaussian noise is bought for: a little less than is claimed where grids cost something."""
        return EpsilonDelta(self.claimed.epsilon * (1.0 - _GRIDS * self.live), self.claimed.delta)


@dataclass(frozen=True, kw_only=True, slots=True)
class RivalPolicy(Policy):
    """A rival with every choice made. `events` are all it will ever release, each once."""

    kernel: ClassVar[str | None] = KERNEL
    waits: ClassVar[bool] = False

    frame: Frame
    begin: Begin = field(compare=False)
    protects: str = NOTHING
    events: tuple[Event, ...] = ()
    live: bool = False
    reported: bool = False  # is all that is learned of a record one report, with noise of its own?
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
    def learns(self) -> bool:
        """Does exact noise stand behind all that it releases?"""
        return self.live and bool(self.events) and all(is_live(event) for event in self.events)

    def live_form(self) -> RivalPolicy:
        """With exact noise, which costs a thousandth of epsilon; itself where it claims nothing."""
        if self.claimed is None:
            return self
        return made_live(self.name, self.claimed, self.adjacency, self.calibration, self.frame)

    @property
    def reads_budget(self) -> bool:
        """Its noise follows from it, where there is any."""
        return bool(self.events) or self.noised

    @property
    def settings(self) -> dict[str, Any]:
        """Its choices by the names of settings.py."""
        return dict(self.own)


def made_live(
    name: str, claimed: EpsilonDelta, adjacency: Adjacency, calibration: str | None, frame: Frame
) -> RivalPolicy:
    """The rival of that name as a live pricer runs it."""
    asked = Asked(name=name, claimed=claimed, adjacency=adjacency, calibration=calibration or "tight", live=True)
    made: RivalPolicy = importlib.import_module(POLICIES[name]).rival(asked, frame)
    return made


def on_grid(event: CovarianceStream) -> CovarianceStream:
    """The stream as it is drawn live."""
    return replace(event, grid=grid_of(event.noise))


def is_live(event: Event) -> bool:
    """Does it describe exact noise? Coins are, wherever they are tossed: `keep` is a multiple of 2^-53."""
    return (
        isinstance(event, BitReports | DirectionReports)
        or bool(getattr(event, "live", False))
        or getattr(event, "grid", 0.0) > 0.0
    )


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
    asked: Asked,
    frame: Frame,
    begin: Begin,
    *events: Event | None,
    claimed: EpsilonDelta,
    reported: bool = False,
    **own: Any,
) -> RivalPolicy:
    """A rival that promises `claimed` for contexts and outcomes; without an event, nothing."""
    given = tuple(event for event in events if event is not None)
    return RivalPolicy(
        name=asked.name,
        calibration=own.get("calibration"),
        horizon=frame.horizon,
        frame=frame,
        begin=begin,
        live=asked.live,
        reported=reported,
        protects=EVERYTHING if given else NOTHING,
        events=given,
        adjacency=asked.adjacency,
        claimed=claimed if given else None,
        proven=proven_by(given, claimed, asked.adjacency) if given else None,
        own=own,
    )
