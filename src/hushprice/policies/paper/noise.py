"""Everything a budget decides about the two releasers, and the events that describe it."""

from __future__ import annotations

from dataclasses import dataclass

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.paper import tolerance
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import (
    FROBENIUS,
    LAYOUTS,
    TRIANGLE,
    CovarianceStream,
    NotPrivate,
    PerturbedEstimate,
    grid_of,
)
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.sensitivity import LossBounds
from hushprice.privacy.streams import Strategy, steps_of, toeplitz, tree

STRATEGIES = ("tree", "toeplitz")


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """How much noise there is and how it is arranged. All zero where nothing is claimed."""

    covariance_noise: float  # sigma, standard deviation of an entry of W^n
    estimate_noise: float  # nu, standard deviation of an entry of w
    estimate_ridge: float  # rho after PrivateMLE raised it
    output_noise: float = 0.0  # standard deviation of what hides how far the solver stopped from the exact minimizer
    strategy: str = "tree"
    layout: str = TRIANGLE
    floored: bool  # is an indefinite Lambda repaired by an eigenvalue floor, or left as it is
    claimed: EpsilonDelta | None
    max_estimates: int | None = None  # D_inf, how many estimates share the claim; None where nothing is claimed

    def __post_init__(self) -> None:
        # A claim without noise, or noise that overflowed, must not get as far as a release.
        check = checks.non_negative if self.claimed is None else checks.positive
        check(
            covariance_noise=self.covariance_noise, estimate_noise=self.estimate_noise, output_noise=self.output_noise
        )
        checks.positive(estimate_ridge=self.estimate_ridge)
        drawn = self.covariance_noise, self.estimate_noise, self.output_noise
        if self.claimed is None and any(drawn):  # an event could not say so, and the ledger would not know
            raise InvalidInput(f"noise must be 0 where nothing is claimed, got {max(drawn)!r}")
        if self.strategy not in STRATEGIES:
            raise InvalidInput(f"strategy must be one of {', '.join(STRATEGIES)}, got {checks.shown(self.strategy)}")
        if self.layout not in LAYOUTS:
            raise InvalidInput(f"layout must be one of {', '.join(LAYOUTS)}, got {checks.shown(self.layout)}")
        if self.max_estimates is not None:
            checks.whole(1, max_estimates=self.max_estimates)
        elif self.claimed is not None:  # a claim is for so many estimates and no more
            raise InvalidInput("max_estimates must be given where something is claimed, got None")

    @property
    def frobenius(self) -> bool:
        """Does the noise have equal size in every direction of matrix space?"""
        return self.layout == FROBENIUS


def without_noise(ridge: float) -> Noise:
    """Both noise steps removed: the paper's non-private comparison. Claims nothing."""
    checks.positive(ridge=ridge)
    return Noise(covariance_noise=0.0, estimate_noise=0.0, estimate_ridge=ridge, floored=False, claimed=None)


def strategy_of(name: str, horizon: int) -> Strategy:
    """The arrangement of that name for a horizon."""
    return toeplitz(horizon) if name == "toeplitz" else tree(horizon)


def events(
    noise: Noise, *, horizon: int, dimension: int, losses: LossBounds, live: bool
) -> tuple[CovarianceStream | NotPrivate, PerturbedEstimate | NotPrivate]:
    """The event of the covariance stream and that of one estimate; live noise is on a grid, simulated noise is not."""
    if noise.claimed is None:
        return NotPrivate(), NotPrivate()
    steps = steps_of(horizon)
    grid = grid_of(noise.estimate_noise) if live else 0.0
    stream = CovarianceStream(
        strategy=strategy_of(noise.strategy, horizon),
        steps=steps,
        dimension=dimension,
        noise=noise.covariance_noise,
        layout=noise.layout,
        grid=grid_of(noise.covariance_noise) if live else 0.0,
    )
    estimate = PerturbedEstimate(
        dimension=dimension,
        noise=noise.estimate_noise,
        ridge=noise.estimate_ridge,
        gradient=losses.gradient,
        difference=losses.difference,
        curvature=losses.curvature,
        distance=tolerance.distance(
            ridge=noise.estimate_ridge,
            grid=grid,
            steps=steps,
            dimension=dimension,
            losses=losses,
        ),
        output_noise=noise.output_noise,
        grid=grid,
        output_grid=grid_of(noise.output_noise) if live else 0.0,
    )
    return stream, estimate


def open_ledger(
    noise: Noise,
    *,
    horizon: int,
    dimension: int,
    losses: LossBounds,
    max_estimates: int,
    live: bool,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
) -> Ledger:
    """An empty ledger that allows one covariance stream and `max_estimates` estimates, and nothing else."""
    stream, estimate = events(noise, horizon=horizon, dimension=dimension, losses=losses, live=live)
    if noise.claimed is None:
        allowance: tuple[Entry, ...] = (Entry(NotPrivate(), max_estimates + 1),)
    else:
        allowance = (Entry(stream, 1), Entry(estimate, max_estimates))
    return Ledger(adjacency=adjacency, claimed=noise.claimed, allowance=allowance)
