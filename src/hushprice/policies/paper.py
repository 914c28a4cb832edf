"""alg:framework, and the same algorithm without its noise."""

from __future__ import annotations

from hushprice import checks
from hushprice.accounting import calibration as calibrations
from hushprice.accounting.budget import PrivacyBudget
from hushprice.demand.protocol import Demand
from hushprice.policies.protocol import LEARNING, Policy
from hushprice.policies.tuning import Tuning


def paper(calibration: str, budget: PrivacyBudget, *, horizon: int, demand: Demand, tuning: Tuning) -> Policy:
    """The paper's private policy under one calibration. Claims the budget (cor:privacy-algo); proven is not known yet."""
    checks.whole(1, horizon=horizon)
    noise = calibrations.calibrate(
        calibration,
        budget,
        horizon=horizon,
        max_estimates=tuning.max_estimates,
        ridge=tuning.ridge,
        bound=demand.bound,
        scale=demand.scale,
        curvature=demand.paper_curvature,
    )
    return Policy(
        name="paper", code=LEARNING, calibration=calibration, tuning=tuning, noise=noise, claimed=noise.claimed
    )


def nonprivate(*, tuning: Tuning) -> Policy:
    """Both noise steps off, as in tab:non-private. PrivateMLE then keeps the ridge it is given: there is no epsilon to raise it."""
    return Policy(name="nonprivate", code=LEARNING, tuning=tuning, noise=calibrations.without_noise(tuning.ridge))
