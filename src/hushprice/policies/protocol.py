"""What a policy is: a built-in one is numbers for the compiled steps, one of your own is two methods."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from hushprice import checks
from hushprice.demand.families import BUILT_IN
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.newton.rules import Newton
from hushprice.policies.paper import tight_noise
from hushprice.policies.paper.noise import Noise
from hushprice.policies.paper.published_noise import Constants
from hushprice.policies.paper.rules import Tuning
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget
from hushprice.privacy.sensitivity import LossBounds
from hushprice.types import FloatArray

# How a period's price is found: the switch of the simulator's loop.
RANDOM = 0
FIXED = 1
CLAIRVOYANT = 2
LEARNING = 3  # alg:framework
NEWTON = 4  # noisy-newton


@dataclass(frozen=True, kw_only=True, slots=True)
class Basis:
    """What noise is calculated for, besides the horizon."""

    dimension: int
    constants: Constants  # the paper's, which `printed` and `published` use
    losses: LossBounds  # the true ones, which proofs use


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """A built-in policy with every choice made."""

    name: str
    code: int
    calibration: str | None = None
    tuning: Tuning | None = None  # LEARNING only
    noise: Noise | None = None  # LEARNING only
    newton: Newton | None = None  # NEWTON only
    horizon: int | None = None  # with `basis`, what the noise was calculated for; None where nothing was
    basis: Basis | None = None
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    price: float | None = None  # FIXED only; None is the best fixed price in hindsight
    input_noise: float = 0.0  # scale of the Laplace noise on every context entry the policy sees
    claimed: EpsilonDelta | None = None  # None: NOT PRIVATE
    proven: EpsilonDelta | None = None  # by the accountant, for the noise actually drawn

    def __post_init__(self) -> None:
        checks.non_negative(input_noise=self.input_noise)
        if self.code not in (RANDOM, FIXED, CLAIRVOYANT, LEARNING, NEWTON):
            raise InvalidInput(f"code must be one of RANDOM, FIXED, CLAIRVOYANT, LEARNING, NEWTON, got {self.code!r}")
        for part in ("tuning", "noise"):
            if (getattr(self, part) is not None) != (self.code == LEARNING):
                raise InvalidInput(f"{part} is for policies that learn, got {getattr(self, part)!r} for {self.name!r}")
        if (self.newton is not None) != (self.code == NEWTON):
            raise InvalidInput(f"newton is for policy noisy-newton, got {self.newton!r} for {self.name!r}")
        if (self.claimed is None) != (self.proven is None):
            raise InvalidInput(f"claimed and proven must be given together, got {self.claimed} and {self.proven}")
        if self.claimed is not None and self.input_noise > 0.0:
            raise InvalidInput(f"input_noise is for policies that claim nothing, got {self.input_noise!r}")
        if self.noise is not None and self.tuning is not None:
            self._check_noise(self.noise, self.tuning)
        elif self.newton is not None:
            self._check_newton(self.newton)
        elif self.claimed is not None and not (
            self.code in (RANDOM, FIXED) and self.claimed == self.proven == EpsilonDelta(0.0, 0.0)
        ):
            raise InvalidInput(f"claimed must be 0, by a policy that reads no record, got {self.claimed}")

    def _check_noise(self, noise: Noise, tuning: Tuning) -> None:
        """Is the claim what the noise was bought with, and does the accountant agree?"""
        if self.claimed != noise.claimed:
            raise InvalidInput(f"claimed must be what the noise was bought with, {noise.claimed}, got {self.claimed}")
        # The claim is divided among a number of estimates, so `tuning` may not ask for another number. Its other
        # entries are free: PrivateMLE fits with noise.estimate_ridge, and tuning.ridge, which is Lambda's, the width
        # and the exploration periods act on nothing but releases.
        if noise.max_estimates not in (None, tuning.max_estimates):
            raise InvalidInput(
                f"max_estimates must be what the noise was calculated for, {noise.max_estimates}, "
                f"got {tuning.max_estimates}"
            )
        if self.claimed is None or self.proven is None:
            return
        if self.horizon is None or self.basis is None:
            raise InvalidInput("horizon and basis must be given where something is claimed")
        found = proven(noise, horizon=self.horizon, basis=self.basis, adjacency=self.adjacency)
        if found is None or not _agree(self.proven, found):
            raise InvalidInput(f"proven must be what the accountant gets for the noise, got {self.proven}")
        if not _covers(self.claimed, found):
            raise InvalidInput(
                f"{self.claimed} is claimed, but the noise proves {found} alone"
                + (f": calibration {self.calibration!r} does not fit this market" if self.calibration else "")
            )

    def _check_newton(self, newton: Newton) -> None:
        """Is the claim what the noise was bought with, and does the accountant agree? Without noise, no claim."""
        if self.claimed != (newton.noise.claimed if newton.drawn else None):
            raise InvalidInput(f"claimed must be what the noise was bought with, got {self.claimed}")
        if self.claimed is None or self.proven is None:
            return
        if self.basis is None:
            raise InvalidInput("basis must be given where something is claimed")
        found = EpsilonDelta(
            newton.noise.proven_epsilon(self.basis.dimension, self.adjacency), newton.noise.claimed.delta
        )
        if not _agree(self.proven, found):
            raise InvalidInput(f"proven must be what the accountant gets for the noise, got {self.proven}")
        if not _covers(self.claimed, found):
            raise InvalidInput(f"{self.claimed} is claimed, but the noise proves {found} alone")

    @property
    def private(self) -> bool:
        """Does anything bound what its prices reveal?"""
        return self.claimed is not None

    def check_fits(self, *, horizon: int, demand: Demand, dimension: int) -> None:
        """Refuse a horizon or a demand other than those the noise was calculated for: the claim would be empty."""
        if self.horizon not in (None, horizon):
            raise InvalidInput(f"policy {self.name!r} has noise for horizon {self.horizon}, got {horizon!r}")
        given = basis_of(demand, dimension)
        if self.basis not in (None, given):
            raise InvalidInput(f"policy {self.name!r} has noise for a demand with {self.basis}, got {given}")


def basis_of(demand: Demand, dimension: int) -> Basis:
    """What calibrations and the accountant read of a demand family.

    Compiled steps take a built-in code at its word, so a class of one's own may not carry one.
    """
    if demand.family != CUSTOM and type(demand) not in BUILT_IN.values():
        raise InvalidInput(f"demand {demand.name!r} must have family CUSTOM, as a family of one's own")
    constants = Constants(bound=demand.bound, scale=demand.scale, curvature=demand.paper_curvature)
    return Basis(dimension=dimension, constants=constants, losses=sensitivity.of_loss(demand))


def proven(noise: Noise, *, horizon: int, basis: Basis, adjacency: Adjacency) -> EpsilonDelta | None:
    """What the accountant gets for this noise drawn live; in simulation, where noise is ideal, it costs no more."""
    if noise.claimed is None:
        return None
    epsilon = tight_noise.proven_epsilon(
        noise, horizon=horizon, dimension=basis.dimension, losses=basis.losses, adjacency=adjacency
    )
    return EpsilonDelta(epsilon, noise.claimed.delta)


def _agree(stated: EpsilonDelta, found: EpsilonDelta) -> bool:
    """Up to the last digits, in which two machines' mathematics libraries may differ."""
    return stated.delta == found.delta and math.isclose(stated.epsilon, found.epsilon, rel_tol=1e-9)


def _covers(claimed: EpsilonDelta, proven: EpsilonDelta) -> bool:
    return proven.epsilon <= claimed.epsilon and proven.delta <= claimed.delta


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
        """What came of it."""
        ...
