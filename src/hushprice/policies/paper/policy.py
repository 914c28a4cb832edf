"""alg:framework, and the same algorithm without its noise."""

from __future__ import annotations

from hushprice.demand.protocol import Demand
from hushprice.policies.paper import calibration as calibrations
from hushprice.policies.paper.noise import without_noise
from hushprice.policies.paper.rules import Tuning
from hushprice.policies.protocol import LEARNING, Policy, basis_of, proven
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import PrivacyBudget


def paper(
    calibration: str,
    budget: PrivacyBudget,
    *,
    horizon: int,
    dimension: int,
    demand: Demand,
    tuning: Tuning,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
) -> Policy:
    """The paper's policy under one calibration. It claims the budget (cor:privacy-algo), and proves what it can."""
    basis = basis_of(demand, dimension)
    noise = calibrations.calibrate(
        calibration,
        budget,
        horizon=horizon,
        dimension=dimension,
        max_estimates=tuning.max_estimates,
        ridge=tuning.ridge,
        constants=basis.constants,
        losses=basis.losses,
        adjacency=adjacency,
    )
    return Policy(
        name="paper",
        code=LEARNING,
        calibration=calibration,
        tuning=tuning,
        noise=noise,
        horizon=horizon,
        basis=basis,
        adjacency=adjacency,
        claimed=noise.claimed,
        proven=proven(noise, horizon=horizon, basis=basis, adjacency=adjacency),
    )


def nonprivate(*, tuning: Tuning) -> Policy:
    """Both noise steps off, as in tab:non-private. PrivateMLE keeps the ridge it is given: no epsilon raises it."""
    return Policy(name="nonprivate", code=LEARNING, tuning=tuning, noise=without_noise(tuning.ridge))
