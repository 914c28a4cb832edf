"""lem:mle-utility-3, first bound (eq:MLE_upper_1): how far a private estimate is from the truth, for any features."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hushprice.demand.families import Gaussian, Logistic
from hushprice.demand.features import main_effects
from hushprice.demand.protocol import Demand
from hushprice.noise import Tape
from hushprice.policies.paper import published_noise
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.policies.protocol import Constants
from hushprice.privacy import sensitivity
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import PerturbedEstimate
from hushprice.records import Records
from hushprice.research.theory import sample_releases
from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding
from hushprice.research.theory.statistics import first_horizon, from_horizon
from hushprice.simulation.market import Market
from hushprice.types import FloatArray

NAME, LABEL = "estimate-error", "lem:mle-utility-3 (eq:MLE_upper_1)"
SAFETY = 1.0  # factor on the bound; tests plant others
RADIUS = 2.0
LOOSE = "epsilon' = 10"  # nearly no privacy: where the bounds are smallest
_NO_DISTANCE = 1e-9  # of the solver, and its output noise: the lemma is about the exact minimizer


class EstimateCase(NamedTuple):
    """A demand family, and how private one estimate is."""

    name: str
    demand: Demand
    call: EpsilonDelta
    dimension: int
    horizon: float
    factor: float = 1.0  # the lemma allows any ridge above its least one

    @property
    def noise(self) -> float:
        """The noise nu of one estimate, with the family's true constants."""
        bounds = Constants(bound=self.demand.bound, scale=self.demand.scale, curvature=self.demand.curvature)
        return published_noise.estimate_noise(self.call, bounds)

    @property
    def ridge(self) -> float:
        """A rho the lemma allows, by default the least: max(5 nu sqrt(5 d ln T), 2 + 48 s^2 G^2 K d ln T)."""
        demand, growth = self.demand, self.dimension * math.log(self.horizon)
        curved = 2 + 48 * demand.subgaussian**2 * demand.scale**2 * demand.curvature * growth
        return self.factor * max(5 * self.noise * math.sqrt(5 * growth), curved)

    @property
    def first_bound(self) -> float:
        """(s K sqrt(3 d ln T) + (2G + 3) sqrt(rho) + G nu sqrt(5 d ln T))^2."""
        demand, growth = self.demand, self.dimension * math.log(self.horizon)
        root = demand.subgaussian * demand.curvature * math.sqrt(3 * growth)
        root += (2 * demand.scale + 3) * math.sqrt(self.ridge) + demand.scale * self.noise * math.sqrt(5 * growth)
        return SAFETY * root**2


def share_of_one(horizon: float, dimension: int, epsilon: float) -> EpsilonDelta:
    """What one of the theorems' ceil(d log_1.5 T) estimates gets of epsilon_2 at delta_2 = 1/T^2."""
    calls = math.ceil(dimension * math.log(horizon) / math.log(1.5))
    return published_noise.per_estimate(EpsilonDelta(epsilon, float(horizon) ** -2), calls, halved=True)


def errors(
    case: EstimateCase, phi: FloatArray, theta: FloatArray, *, trials: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """(theta-hat - theta*)' Lambda_n (theta-hat - theta*) and ||theta-hat||, a fresh demand and estimate each trial."""
    d, count = phi.shape
    losses = sensitivity.of_loss(case.demand)
    event = PerturbedEstimate(
        dimension=d,
        noise=case.noise,
        ridge=case.ridge,
        gradient=losses.gradient,
        difference=losses.difference,
        curvature=losses.curvature,
        distance=_NO_DISTANCE,
        output_noise=_NO_DISTANCE,
    )
    lambda_n = phi @ phi.T + case.ridge * np.eye(d)
    squared_errors, norms = [], []
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial, 2])
        records = Records(d, case.demand.bound, case.demand.lowest)
        records.restore(phi, case.demand.sample(theta @ phi, *rng.random((2, count))))
        releaser = PrivateMLE(demand=case.demand, dimension=d, ridge=case.ridge, source=Tape(seed, trial), event=event)
        estimate = releaser.release(records, count + 1).theta
        squared_errors.append(float((estimate - theta) @ lambda_n @ (estimate - theta)))
        norms.append(float(np.linalg.norm(estimate)))
    return np.array(squared_errors), np.array(norms)


def cases(horizon: int, dimension: int) -> list[EstimateCase]:
    """Families at one share of epsilon_2 = 1, and one nearly without privacy, where the bound is smallest."""
    share, loose = share_of_one(horizon, dimension, 1.0), EpsilonDelta(10.0, float(horizon) ** -2)
    return [
        EstimateCase("logistic, slope 4 (sec:numerical)", Logistic(slope=4.0), share, dimension, horizon),
        EstimateCase("logistic, slope 1", Logistic(slope=1.0), share, dimension, horizon),
        EstimateCase(f"logistic, slope 1, {LOOSE}", Logistic(slope=1.0), loose, dimension, horizon),
        EstimateCase(f"gaussian, {LOOSE}", Gaussian(), loose, dimension, horizon),
    ]


def binding_horizon(demand: Demand, dimension: int, epsilon: float) -> float:
    """From which T on the bound is below T + rho, what answering theta = 0 always achieves."""

    def binds(horizon: float) -> bool:
        case = EstimateCase("", demand, share_of_one(horizon, dimension, epsilon), dimension, horizon)
        return case.first_bound < horizon + case.ridge

    return first_horizon(binds)


def check(size: CheckSize) -> TheoryFinding:
    """The bound in settings that meet the lemma's condition, with the least ridge it allows."""
    horizons, trials = size.pick((10**4,), (10**4, 10**5, 10**6)), size.pick(5, 10)
    rows: list[FindingRow] = []
    holds, worst, alarm = True, 0.0, 0.0
    for horizon in horizons:
        for dimension in (2, 4):
            theta = np.zeros(dimension)
            theta[0], theta[-1] = -0.6, 0.8
            for case in cases(horizon, dimension):
                market = Market(demand=case.demand, features=main_effects(dimension - 1), theta=theta)
                phi = sample_releases.random_features(market, horizon - 1, horizon=horizon, seed=size.seed, trial=0)
                squared_errors, norms = errors(case, phi, theta, trials=trials, seed=size.seed)
                holds = holds and bool(squared_errors.max() <= case.first_bound) and bool(norms.max() < RADIUS)
                worst, alarm = max(worst, float(squared_errors.max()) / case.first_bound), alarm + trials / horizon**2
                nothing = float(theta @ phi @ phi.T @ theta) + case.ridge * float(theta @ theta)
                rows.append(
                    {
                        "demand": case.name,
                        "d": dimension,
                        "T": horizon,
                        "rho": round(case.ridge, 1),
                        "largest error": round(float(squared_errors.max()), 1),
                        "bound": round(case.first_bound, 1),
                        "error of theta = 0": round(nothing, 1),
                        "largest norm": round(float(norms.max()), 3),
                    }
                )
    slow, fast = (binding_horizon(Logistic(slope=slope), 2, 1.0) for slope in (4.0, 1.0))
    private = [row for row in rows if LOOSE not in str(row["demand"])]
    vacuous = all(float(row["bound"] or 0) > float(row["error of theta = 0"] or 0) for row in private)
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="With rho >= max(5 nu sqrt(5 d ln T), 2 + 48 s^2 G^2 K d ln T), with probability 1 - O(T^-2) the "
        "estimate has norm below 2 and an error in Lambda_n of at most "
        "(s K sqrt(3 d ln T) + (2G + 3) sqrt(rho) + G nu sqrt(5 d ln T))^2.",
        quantity="largest error as a share of the bound",
        measured=worst,
        bound=1.0,
        holds=holds,
        vacuous=vacuous,
        false_alarm=alarm,
        explanation=f"True with much to spare (largest ratio {worst:.3f}). At one estimate's share of epsilon_2 = 1 "
        f"the bound is {'always' if vacuous else 'not always'} above the error of answering theta = 0 without a look "
        f"at any record; at epsilon_2 = 1, d = 2 it says more {from_horizon(slow)} for slope 4 and "
        f"{from_horizon(fast)} for slope 1.",
        rows=tuple(rows),
    )
