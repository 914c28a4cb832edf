"""The least noise that the accountant can prove a budget with: calibration `tight`.

The two shares of the budget decide how noise is divided between covariances and estimates. Each share alone gives a
first answer in closed form; then all noise is scaled by one factor until everything together, accounted jointly, costs
exactly the whole budget. Every choice uses public numbers only.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.paper.noise import Noise, events, strategy_of
from hushprice.privacy import accountant, gaussian, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget
from hushprice.privacy.events import FROBENIUS, PerturbedEstimate
from hushprice.privacy.ledger import Entry, loss_of_all
from hushprice.privacy.loss import Loss, Radial
from hushprice.privacy.roots import brentq, minimize_scalar
from hushprice.privacy.sensitivity import LossBounds
from hushprice.privacy.streams import steps_of

_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim
_LEAST, _MOST = 1e-7, 1e4  # epsilon a share; more than this is no privacy, and less noise than floats can place
OUTPUT_SHARE = 0.05  # of an estimate's mu that goes into hiding how far the solver stopped; costs 0.1 % of the budget


def covariance_noise(share: EpsilonDelta, horizon: int, *, strategy: str, adjacency: Adjacency) -> float:
    """Noise of the covariance stream alone: sensitivity times the strategy's longest column, over mu."""
    column = strategy_of(strategy, horizon).column_norm(steps_of(horizon))
    return sensitivity.of_covariance(adjacency) * column / gaussian.mu_of(share.epsilon, share.delta)


def largest_deviation(noise: Noise, horizon: int) -> float:
    """The largest standard deviation of an entry of any released covariance."""
    return noise.covariance_noise * strategy_of(noise.strategy, horizon).row_norm(steps_of(horizon))


def output_noise(share: EpsilonDelta, calls: int, distance: float) -> float:
    """Noise that hides a change of 2 `distance` in each of `calls` estimates at OUTPUT_SHARE of their mu."""
    return 2.0 * distance * math.sqrt(calls) / (OUTPUT_SHARE * gaussian.mu_of(share.epsilon, share.delta))


@functools.lru_cache(maxsize=256)
def calibrate(
    budget: PrivacyBudget,
    *,
    horizon: int,
    dimension: int,
    max_estimates: int,
    ridge: float,
    losses: LossBounds,
    adjacency: Adjacency,
    strategy: str = "toeplitz",
) -> Noise:
    """The least noise, up to rounding, whose events cost at most the budget's total."""
    checks.whole(1, horizon=horizon, dimension=dimension, max_estimates=max_estimates)
    checks.positive(ridge=ridge)
    for name, share in (("epsilon_covariance", budget.covariance), ("epsilon_estimate", budget.estimates)):
        checks.within(_LEAST, _MOST, **{name: share.epsilon})
    sigma = covariance_noise(budget.covariance, horizon, strategy=strategy, adjacency=adjacency)
    nu, raised = _estimate(budget.estimates, max_estimates, dimension, ridge, losses=losses, adjacency=adjacency)

    def scaled(factor: float) -> Noise:
        return with_output_noise(
            Noise(
                covariance_noise=factor * sigma,
                estimate_noise=factor * nu,
                estimate_ridge=max(ridge, factor * raised),
                output_noise=1.0,
                strategy=strategy,
                layout=FROBENIUS,
                floored=True,
                claimed=budget.total,
                max_estimates=max_estimates,
            ),
            budget,
            horizon=horizon,
            dimension=dimension,
            losses=losses,
        )

    def excess(log_factor: float) -> float:
        noise = scaled(math.exp(log_factor))
        epsilon = proven_epsilon(noise, horizon=horizon, dimension=dimension, losses=losses, adjacency=adjacency)
        return math.log(max(epsilon, 1e-300) / (budget.total.epsilon * (1.0 - _MARGIN)))

    low, high = math.log(0.05), math.log(20.0)
    if not (excess(low) > 0.0 > excess(high)):
        raise InvalidInput(f"epsilon {budget.total.epsilon!r} at delta {budget.total.delta!r} is out of reach")
    root = brentq(excess, low, high, xtol=1e-10, rtol=1e-10)
    while excess(root) > 0.0:  # errors are made to fall on the private side
        root += 1e-9
    return scaled(math.exp(root))


def with_output_noise(
    noise: Noise, budget: PrivacyBudget, *, horizon: int, dimension: int, losses: LossBounds
) -> Noise:
    """This noise with the output noise that the solver's inexactness asks for, in live use as in simulation."""
    _, estimate = events(noise, horizon=horizon, dimension=dimension, losses=losses, live=True)
    assert noise.max_estimates is not None  # something is claimed
    assert isinstance(estimate, PerturbedEstimate)
    return replace(noise, output_noise=output_noise(budget.estimates, noise.max_estimates, estimate.distance))


def proven_epsilon(noise: Noise, *, horizon: int, dimension: int, losses: LossBounds, adjacency: Adjacency) -> float:
    """What all releases this noise was bought for cost together at the claim's delta, drawn live."""
    assert noise.claimed is not None
    assert noise.max_estimates is not None
    stream, estimate = events(noise, horizon=horizon, dimension=dimension, losses=losses, live=True)
    loss = loss_of_all((Entry(stream, 1), Entry(estimate, noise.max_estimates)), adjacency)
    return accountant.epsilon_of(loss, noise.claimed.delta)


def _estimate(
    share: EpsilonDelta, calls: int, dimension: int, ridge: float, *, losses: LossBounds, adjacency: Adjacency
) -> tuple[float, float]:
    """nu and the ridge for the estimates alone.

    A larger ridge needs less noise but pulls the estimate to zero. On the scale of the gradient noise has mean square
    d nu^2 and the ridge pulls by at most ridge^2, as ||theta*|| <= 1: take the ridge with the least sum.
    """
    change, degree = sensitivity.of_gradients(losses.gradient, losses.difference, adjacency)

    def nu_for(ridge: float) -> float:
        def excess(log_nu: float) -> float:
            scale = change / math.exp(log_nu)
            radial = Radial(calls, math.log1p(losses.curvature / ridge) + 0.5 * scale * scale, scale, degree)
            return accountant.renyi_epsilon(Loss(radials=(radial,)), share.delta)[0] - share.epsilon

        low, high = math.log(change) - 12.0, math.log(change) + 40.0
        if not excess(low) > 0.0 > excess(high):
            raise InvalidInput(f"epsilon_estimate is out of reach for {calls} estimates, got {share.epsilon!r}")
        return math.exp(brentq(excess, low, high, xtol=1e-6, rtol=1e-9))

    # The determinant's part of the loss alone must leave most of epsilon to the noise.
    least = max(ridge, losses.curvature / math.expm1(min(0.9 * share.epsilon / calls, 700.0)))
    found = minimize_scalar(
        lambda log_ridge: dimension * nu_for(math.exp(log_ridge)) ** 2 + math.exp(2.0 * log_ridge),
        bounds=(math.log(least), math.log(least) + 7.0),
        method="bounded",
        options={"xatol": 1e-3},
    )
    chosen = math.exp(float(found.x))
    return nu_for(chosen), chosen
