"""Runs of policy paper that several test files share."""

from __future__ import annotations

from typing import Any

from hushprice import Pricer, open_pricer
from hushprice.demand.protocol import Demand
from hushprice.noise import Tape
from hushprice.policies.paper import tolerance
from hushprice.privacy import sensitivity
from hushprice.privacy.events import PerturbedEstimate, grid_of


def on_tape(**changes: Any) -> Pricer:
    """A simulated pricer with so little noise that it refreshes often."""
    given: dict[str, Any] = {
        "policy": "paper",
        "contexts": 1,
        "epsilon": 3000.0,
        "ridge": 1.0,
        "source": Tape(seed=1, trial=1),
        "simulation": True,
    }
    return open_pricer(**given | changes)


def estimate_event(
    demand: Demand, *, noise: float, ridge: float, output: float, steps: int, live: bool = False
) -> PerturbedEstimate:
    """What an estimate from so many records in two dimensions costs."""
    losses, grid = sensitivity.of_loss(demand), grid_of(noise) if live else 0.0
    return PerturbedEstimate(
        dimension=2,
        noise=noise,
        ridge=ridge,
        gradient=losses.gradient,
        difference=losses.difference,
        curvature=losses.curvature,
        distance=tolerance.distance(ridge=ridge, grid=grid, steps=steps, dimension=2, losses=losses),
        output_noise=output,
        grid=grid,
        output_grid=grid_of(output) if live else 0.0,
    )
