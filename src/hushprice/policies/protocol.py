"""What a policy is: a folder of one shape.

    policy.py      a Policy, its claim checked against its noise; `build` makes one from settings
    rules.py       every choice made before the first customer;  noise.py: how much noise a budget buys
    pricing/       layer 3: sees releases and the arriving customer, never a record
    private/       layer 2: reads records, adds noise, releases
    engine.py      an Engine over the two: what a live pricer runs
    saved.py       a live pricer on disk;  statements.py: what a certificate says (both may be missing)

docs/reference/architecture.md shows how to add one. For a simulation two methods in plain Python are enough: a
PlainPolicy.
"""

from __future__ import annotations

import importlib
import math
from abc import abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Protocol

from hushprice import checks
from hushprice.demand.families import BUILT_IN
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget
from hushprice.privacy.events import Event
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.sensitivity import LossBounds
from hushprice.types import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Constants:
    """The constants of sec:models that the paper's noise depends on."""

    bound: float  # B_Y
    scale: float  # G
    curvature: float  # K

    def __post_init__(self) -> None:
        checks.positive(bound=self.bound, scale=self.scale, curvature=self.curvature)


@dataclass(frozen=True, kw_only=True, slots=True)
class Basis:
    """What noise is calculated for, besides the horizon."""

    dimension: int
    constants: Constants  # the paper's, which `printed` and `published` use
    losses: LossBounds  # the true ones, which proofs use


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """A policy with every choice made. Each folder has its own kind, which checks its claim."""

    kernel: ClassVar[str | None] = None  # the compiled kernel that runs its trials; None: plain Python alone
    waits: ClassVar[bool] = True  # may a live pricer be told outcomes later than at the next quote?
    tells_start: ClassVar[bool] = False  # is regret before the first learned price told apart?

    name: str
    calibration: str | None = None
    horizon: int | None = None  # with `basis`, what the noise was calculated for; None where nothing was
    basis: Basis | None = None
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    claimed: EpsilonDelta | None = None  # None: NOT PRIVATE
    proven: EpsilonDelta | None = None  # by the accountant, for the noise actually drawn

    def __post_init__(self) -> None:
        if (self.claimed is None) != (self.proven is None):
            raise InvalidInput(f"claimed and proven must be given together, got {self.claimed} and {self.proven}")

    @property
    def learns(self) -> bool:
        """Has it an Engine, so that a live pricer can run it?"""
        return False

    @property
    def private(self) -> bool:
        """Does anything bound what its prices reveal?"""
        return self.claimed is not None

    def allowance(self, *, live: bool) -> tuple[Entry, ...]:
        """All that is ever released, as a ledger allows it; nothing where no audit knows its releases."""
        return ()

    @property
    def reads_budget(self) -> bool:
        """Does the budget decide anything about it?"""
        return False

    @property
    def settings(self) -> dict[str, Any]:
        """Its choices by the names of settings.py, for tables; what it does not read is not there."""
        return {}

    def live_form(self) -> Policy:
        """The policy as a live pricer runs it: itself, unless its noise is another there."""
        return self

    def in_currency(self, price: float) -> float:
        """A price in [0, 1] as it is quoted: itself, unless the policy is for a product."""
        return price

    def check_fits(self, *, horizon: int, demand: Demand, dimension: int) -> None:
        """Refuse a horizon or a demand other than those the noise was calculated for: the claim would be empty."""
        if self.horizon not in (None, horizon):
            raise InvalidInput(f"policy {self.name!r} has noise for horizon {self.horizon}, got {horizon!r}")
        given = basis_of(demand, dimension)
        if self.basis not in (None, given):
            raise InvalidInput(f"policy {self.name!r} has noise for a demand with {self.basis}, got {given}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchPolicy(Policy):
    """A policy with an Engine and records in batches: all its releases are one event, paid at the start."""

    @abstractmethod
    def event(self, *, live: bool) -> Event:
        """All that is ever released, as one event."""
        ...

    def allowance(self, *, live: bool) -> tuple[Entry, ...]:
        """All batches there will ever be, once."""
        return (Entry(self.event(live=live), 1),)

    @property
    def learns(self) -> bool:
        """True: it has an Engine, so a live pricer can run it."""
        return True

    @property
    def reads_budget(self) -> bool:
        """True: noise follows from the budget, drawn or not."""
        return True


def check_claim(policy: Policy, bought: EpsilonDelta | None, accounted: EpsilonDelta | None) -> None:
    """Is the claim what the noise was bought with, and does the accountant's figure agree with what is proven?"""
    if policy.claimed != bought:
        raise InvalidInput(f"claimed must be what the noise was bought with, {bought}, got {policy.claimed}")
    if policy.claimed is None or policy.proven is None:
        return
    if accounted is None or not _agree(policy.proven, accounted):
        raise InvalidInput(f"proven must be what the accountant gets for the noise, got {policy.proven}")
    if not (accounted.epsilon <= policy.claimed.epsilon and accounted.delta <= policy.claimed.delta):
        raise InvalidInput(
            f"{policy.claimed} is claimed, but the noise proves {accounted} alone"
            + (f": calibration {policy.calibration!r} does not fit this market" if policy.calibration else "")
        )


def _agree(stated: EpsilonDelta, found: EpsilonDelta) -> bool:
    """Up to the last digits, in which two machines' mathematics libraries may differ."""
    return stated.delta == found.delta and math.isclose(stated.epsilon, found.epsilon, rel_tol=1e-9)


def basis_of(demand: Demand, dimension: int) -> Basis:
    """What calibrations and the accountant read of a demand family.

    Compiled steps take a built-in code at its word, so a class of one's own may not carry one.
    """
    if demand.family != CUSTOM and type(demand) not in BUILT_IN.values():
        raise InvalidInput(f"demand {demand.name!r} must have family CUSTOM, as a family of one's own")
    constants = Constants(bound=demand.bound, scale=demand.scale, curvature=demand.paper_curvature)
    return Basis(dimension=dimension, constants=constants, losses=sensitivity.of_loss(demand))


class Quoter(Protocol):
    """The side that prices. It holds releases only."""

    version: int  # how often a release moved prices


class Learner(Protocol):
    """The side that reads records."""

    ledger: Ledger


class SlotsDue(Protocol):
    """The slots of a live pricer, as far as an engine asks."""

    learned: int  # slots handed over

    def due(self) -> tuple[FloatArray, float] | None:
        """The record that the next quote makes due, handed over once."""
        ...

    def close(self) -> None:
        """Learn no further record, and forget those that wait."""
        ...


class Engine(Protocol):
    """Both sides of a policy in one process: what a live pricer runs.

    A folder's `engine.py` has it as `make_engine(policy=, demand=, features=, horizon=, source=, **parts)`.
    """

    @property
    def quoter(self) -> Quoter: ...
    @property
    def learner(self) -> Learner: ...

    def learn(self, slots: SlotsDue, period: int) -> None:
        """Learn what the quote of this period makes due, and release what is due after it."""
        ...

    def price(self, u: FloatArray, v: FloatArray, period: int) -> float:
        """The price for a customer whose features are u + p v."""
        ...

    def own_parts(self, *, certified: bool) -> dict[str, bool]:
        """Which of its parts are hushprice's own, by name; `certified` asks for those that draw live noise."""
        ...


def part(policy: Policy, name: str) -> ModuleType:
    """A file of the policy's folder: `engine`, `saved` or `statements`."""
    folder = type(policy).__module__.rpartition(".")[0]
    return part_of(folder, name, policy.name)


def part_of(folder: str, name: str, policy: str) -> ModuleType:
    """A file of a policy's folder, given by its dotted name."""
    try:
        return importlib.import_module(f"{folder}.{name}")
    except ModuleNotFoundError as problem:
        if problem.name != f"{folder}.{name}":
            raise
        raise InvalidInput(f"policy {policy!r} has no {name}.py in its folder, {folder}") from None


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What a policy may know before the first customer: public quantities, and a seed for its own randomness."""

    horizon: int
    demand: Demand
    features: FeatureMap
    budget: PrivacyBudget
    seed: int
    trial: int


class PlainPolicy(Protocol):
    """A policy in plain Python, for `--policy module:Class`: constructed with a Setting, then asked period by period.

    It sees raw customers, so nothing is claimed about its privacy unless it carries `claimed` (an EpsilonDelta).
    """

    def price(self, context: FloatArray) -> float:
        """The price in [0, 1] for the arriving customer."""
        ...

    def learn(self, context: FloatArray, price: float, demand: float) -> None:
        """Take note of what a customer did at a price."""
        ...
