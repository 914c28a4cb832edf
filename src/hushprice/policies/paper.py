"""alg:framework, and the same algorithm without its noise."""

from __future__ import annotations

from hushprice.accounting import calibration as calibrations
from hushprice.accounting.budget import PrivacyBudget
from hushprice.demand.protocol import Demand
from hushprice.policies.protocol import LEARNING, Policy, constants_of
from hushprice.policies.tuning import Tuning


def paper(calibration: str, budget: PrivacyBudget, *, horizon: int, demand: Demand, tuning: Tuning) -> Policy:
    """The paper's policy under one calibration. Claims the budget (cor:privacy-algo); proven is not known yet."""
    constants = constants_of(demand)
    noise = calibrations.calibrate(
        calibration,
        budget,
        horizon=horizon,
        max_estimates=tuning.max_estimates,
        ridge=tuning.ridge,
        bound=constants.bound,
        scale=constants.scale,
        curvature=constants.curvature,
    )
    return Policy(
        name="paper",
        code=LEARNING,
        calibration=calibration,
        tuning=tuning,
        noise=noise,
        horizon=horizon,
        constants=constants,
        claimed=noise.claimed,
    )


def nonprivate(*, tuning: Tuning) -> Policy:
    """Both noise steps off, as in tab:non-private. PrivateMLE keeps the ridge it is given: no epsilon raises it."""
    return Policy(name="nonprivate", code=LEARNING, tuning=tuning, noise=calibrations.without_noise(tuning.ridge))
