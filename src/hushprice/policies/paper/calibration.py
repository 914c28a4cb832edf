"""From a target to noise, by name: `printed`, `published` (paper_noise.py) or `tight` (tight.py).

Each claims the budget it was given. What it proves is another matter, and the same for all: the accountant's answer for
the noise actually drawn, with the demand's true constants.
"""

from __future__ import annotations

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.paper import published_noise, tight_noise
from hushprice.policies.paper.noise import Noise
from hushprice.policies.protocol import Constants
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import PrivacyBudget
from hushprice.privacy.sensitivity import LossBounds

CALIBRATIONS = ("printed", "published", "tight")
DEFAULT = "tight"


def calibrate(
    name: str,
    budget: PrivacyBudget,
    *,
    horizon: int,
    dimension: int,
    max_estimates: int,
    ridge: float,
    constants: Constants,
    losses: LossBounds,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
) -> Noise:
    """The noise that calibration `name` buys for `budget`.

    `constants` are what the paper states for the demand family, which `printed` and `published` use; `published` takes
    G = 1, the constant of its logistic example, whatever the slope. `losses` are the family's true bounds.
    """
    if name not in CALIBRATIONS:
        raise InvalidInput(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {name!r}")
    checks.whole(1, horizon=horizon, dimension=dimension, max_estimates=max_estimates)
    checks.positive(ridge=ridge)
    if name == "tight":
        return tight_noise.calibrate(
            budget,
            horizon=int(horizon),
            dimension=dimension,
            max_estimates=max_estimates,
            ridge=float(ridge),
            losses=losses,
            adjacency=adjacency,
        )
    as_printed = name == "printed"
    if not as_printed:
        constants = Constants(bound=constants.bound, scale=1.0, curvature=constants.curvature)
    call = published_noise.per_estimate(budget.estimates, max_estimates, halved=as_printed)
    noise = Noise(
        covariance_noise=published_noise.covariance_noise(budget.covariance, horizon, square_root=not as_printed),
        estimate_noise=published_noise.estimate_noise(call, constants),
        estimate_ridge=published_noise.estimate_ridge(call, constants, ridge),
        output_noise=1.0,
        floored=as_printed,
        claimed=budget.total,
        max_estimates=max_estimates,
    )
    return tight_noise.with_output_noise(noise, budget, horizon=int(horizon), dimension=dimension, losses=losses)
