"""alg:framework, the same algorithm without its noise, and the same on noisy contexts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hushprice import checks
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.paper import calibration as calibrations
from hushprice.policies.paper import tight_noise
from hushprice.policies.paper.noise import Noise, events, without_noise
from hushprice.policies.paper.rules import PaperRules, tune
from hushprice.policies.protocol import Basis, Policy, basis_of, check_claim
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget
from hushprice.privacy.ledger import Entry
from hushprice.settings import PolicySettings

_RULES = ("exploration_periods", "ridge", "width", "max_estimates")
KERNEL = "paper"
READS = {"paper": ("calibration", *_RULES), "nonprivate": _RULES, "input-perturbation": _RULES}


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperPolicy(Policy):
    """Policies paper, nonprivate and input-perturbation."""

    kernel: ClassVar[str | None] = KERNEL

    rules: PaperRules
    noise: Noise
    input_noise: float = 0.0  # scale of the Laplace noise on every context entry the policy sees

    def __post_init__(self) -> None:
        super(PaperPolicy, self).__post_init__()
        checks.non_negative(input_noise=self.input_noise)
        for name, kind in (("rules", PaperRules), ("noise", Noise)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidInput(f"{name} must be given by a policy that learns, got {getattr(self, name)!r}")
        if self.claimed is not None and self.input_noise > 0.0:
            raise InvalidInput(f"input_noise is for policies that claim nothing, got {self.input_noise!r}")
        # The claim is divided among a number of estimates, so `rules` may not ask for another number. Its other entries
        # are free: PrivateMLE fits with noise.estimate_ridge, and rules.ridge, which is Lambda's, the width and the
        # exploration periods act on nothing but releases.
        if self.noise.max_estimates not in (None, self.rules.max_estimates):
            raise InvalidInput(
                f"max_estimates must be what the noise was calculated for, {self.noise.max_estimates}, "
                f"got {self.rules.max_estimates}"
            )
        if self.claimed is not None and (self.horizon is None or self.basis is None):
            raise InvalidInput("horizon and basis must be given where something is claimed")
        check_claim(self, self.noise.claimed, self._accounted())

    def _accounted(self) -> EpsilonDelta | None:
        if self.horizon is None or self.basis is None or self.claimed != self.noise.claimed:
            return None
        return proven(self.noise, horizon=self.horizon, basis=self.basis, adjacency=self.adjacency)

    def allowance(self, *, live: bool) -> tuple[Entry, ...]:
        """The covariance stream, and all estimates that may be paid for."""
        if self.horizon is None or self.basis is None:
            return ()
        stream, estimate = events(
            self.noise, horizon=self.horizon, dimension=self.basis.dimension, losses=self.basis.losses, live=live
        )
        return Entry(stream, 1), Entry(estimate, self.rules.max_estimates)

    @property
    def learns(self) -> bool:
        """Has it an Engine? Not on noisy contexts, which are for simulation alone."""
        return self.input_noise == 0.0

    @property
    def reads_budget(self) -> bool:
        """Noise on releases or on contexts follows from it."""
        return self.private or self.input_noise > 0.0

    @property
    def settings(self) -> dict[str, Any]:
        """What can be set, as it was resolved."""
        return {name: getattr(self.rules, name) for name in _RULES}


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> PaperPolicy:
    """The policy that the settings ask for, with the numerical section's rules where none are given."""
    given: dict[str, Any] = {name: getattr(settings, name) for name in _RULES}
    rules = tune(horizon=settings.horizon, dimension=features.dimension, **given)
    match settings.policy:
        case "nonprivate":
            return nonprivate(rules=rules)
        case "input-perturbation":
            return input_perturbation(settings.budget.total.epsilon, contexts=features.contexts, rules=rules)
    return paper(
        settings.calibration,
        settings.budget,
        horizon=settings.horizon,
        dimension=features.dimension,
        demand=demand,
        rules=rules,
        adjacency=settings.neighbours,
    )


def paper(
    calibration: str,
    budget: PrivacyBudget,
    *,
    horizon: int,
    dimension: int,
    demand: Demand,
    rules: PaperRules,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
) -> PaperPolicy:
    """The paper's policy under one calibration. It claims the budget (cor:privacy-algo), and proves what it can."""
    basis = basis_of(demand, dimension)
    noise = calibrations.calibrate(
        calibration,
        budget,
        horizon=horizon,
        dimension=dimension,
        max_estimates=rules.max_estimates,
        ridge=rules.ridge,
        constants=basis.constants,
        losses=basis.losses,
        adjacency=adjacency,
    )
    return PaperPolicy(
        name="paper",
        calibration=calibration,
        rules=rules,
        noise=noise,
        horizon=horizon,
        basis=basis,
        adjacency=adjacency,
        claimed=noise.claimed,
        proven=proven(noise, horizon=horizon, basis=basis, adjacency=adjacency),
    )


def proven(noise: Noise, *, horizon: int, basis: Basis, adjacency: Adjacency) -> EpsilonDelta | None:
    """What the accountant gets for this noise drawn live; in simulation, where noise is ideal, it costs no more."""
    if noise.claimed is None:
        return None
    epsilon = tight_noise.proven_epsilon(
        noise, horizon=horizon, dimension=basis.dimension, losses=basis.losses, adjacency=adjacency
    )
    return EpsilonDelta(epsilon, noise.claimed.delta)


def nonprivate(*, rules: PaperRules) -> PaperPolicy:
    """Both noise steps off, as in tab:non-private. PrivateMLE keeps the ridge it is given: no epsilon raises it."""
    return PaperPolicy(name="nonprivate", rules=rules, noise=without_noise(rules.ridge))


def input_perturbation(epsilon: float, *, contexts: int, rules: PaperRules) -> PaperPolicy:
    """subsec:input-perturbation: the non-private algorithm on x + Laplace noise, per entry, unclipped.

    Reading: the paper gives no noise law. Contexts in [-1, 1]^k have l1 sensitivity 2k, so the scale is 2k/epsilon. It
    protects x alone and not y, so nothing is claimed.
    """
    checks.positive(epsilon=epsilon)
    checks.whole(0, contexts=contexts)
    return replace(nonprivate(rules=rules), name="input-perturbation", input_noise=2.0 * contexts / epsilon)
