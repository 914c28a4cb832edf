"""Trials on a GPU against the same trials on the CPU: what the tests of the simulator and of a real GPU share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import by_name
from hushprice.demand.protocol import Demand
from hushprice.research.planner import prior
from hushprice.simulation import tally
from hushprice.simulation.gpu.run import Runner, kin, run_trials
from hushprice.simulation.market import Market
from hushprice.simulation.run import prepare, run_one
from hushprice.simulation.trial import Job, Trials

PROBED = math.log(1.25)  # a batch in which records grow by less is a probe; others make them grow by half
FAMILIES: dict[str, Demand] = {"logistic": Logistic(), "gaussian": Gaussian(noise=0.5), "poisson": Poisson(slope=3.0)}

# name: policy, family, map, contexts, calibration. Every policy, family and map, and a stream of each way of drawing.
CASES: dict[str, tuple[str, str, str, str, str]] = {
    "noisy-newton": ("noisy-newton", "logistic", "main", "uniform", "tight"),
    "noisy-newton, gaussian": ("noisy-newton", "gaussian", "intercept", "gaussian", "tight"),
    "noisy-newton, poisson": ("noisy-newton", "poisson", "interactions", "late", "tight"),
    "paper printed": ("paper", "logistic", "main", "uniform", "printed"),
    "paper published": ("paper", "logistic", "intercept", "gaussian", "published"),
    "paper tight": ("paper", "logistic", "main", "blocks", "tight"),
    "paper tight, gaussian": ("paper", "gaussian", "main", "segments", "tight"),
    "nonprivate": ("nonprivate", "logistic", "main", "corners", "tight"),
    "nonprivate, poisson": ("nonprivate", "poisson", "interactions", "sorted", "tight"),
    "input-perturbation": ("input-perturbation", "logistic", "main", "uniform", "tight"),
    "random": ("random", "logistic", "interactions", "file", "tight"),
    "fixed": ("fixed", "logistic", "main", "uniform", "tight"),
    "clairvoyant": ("clairvoyant", "poisson", "main", "uniform", "tight"),
}


def job_of(name: str, horizon: int, *, contexts: int = 1, **setting: Any) -> Job:
    """The case as a job; in its market most customers' best price is below 1."""
    policy, family, features, kind, calibration = CASES[name]
    chosen = by_name(features, contexts)
    theta = np.full(chosen.dimension, 0.4 / chosen.dimension)
    theta[contexts if features == "main" else contexts + 1] = 0.9
    rows = np.random.default_rng(1).uniform(-1.0, 1.0, (50, contexts)) if kind == "file" else None
    market = Market(demand=FAMILIES[family], features=chosen, theta=theta, contexts=kind, rows=rows)
    return prepare(policy, market=market, horizon=horizon, calibration=calibration, seed=3, **setting)


class Difference(NamedTuple):
    """The largest over all trials and checkpoints."""

    same_periods: bool  # of releases or estimates, to the last one
    regret: float  # relative
    totals: float  # of revenue, surplus and counts, relative
    estimates: int  # of all trials: a case without any tests less


def on_cpu(job: Job, numbers: range) -> Trials:
    """The reference."""
    control = np.zeros(1 + len(numbers), dtype=np.int64)
    return Trials.of([run_one(job, number, control, 1 + i) for i, number in enumerate(numbers)])


def compare(job: Job, numbers: range, precision: str) -> Difference:
    """The same trials on both."""
    there, _ = run_trials(job, numbers, precision=precision, advance=lambda done: None)
    return difference(there, on_cpu(job, numbers))


def compare_side_by_side(jobs: Sequence[Job], numbers: range) -> list[Difference]:
    """Jobs that differ by theta and seed alone, in one batch, each beside its own on the CPU."""
    first, *beside = jobs
    assert len({kin(job) for job in jobs}) == 1
    found = Runner(first, precision="double", most=len(numbers), beside=beside).run(numbers, lambda done: None)
    parts = [found.part(slice(row * len(numbers), (row + 1) * len(numbers))) for row in range(len(jobs))]
    return [difference(part, on_cpu(job, numbers)) for part, job in zip(parts, jobs, strict=True)]


def jobs_of_the_prior(count: int, horizon: int) -> list[Job]:
    """noisy-newton on some of the planner's markets, each with a seed of its own."""
    markets = prior.markets(1, count=count)
    return [
        prepare("noisy-newton", market=each, horizon=horizon, epsilon=8.0, seed=i) for i, each in enumerate(markets)
    ]


def jobs_of_the_framework(horizon: int) -> list[Job]:
    """Policies of alg:framework whose rooms are alike, with other noise, other seeds and other demand."""
    settings = ("paper", "published", 8.0), ("paper", "printed", 50.0), ("nonprivate", "tight", 8.0)
    return [
        prepare(policy, calibration=how, market=market, horizon=horizon, epsilon=epsilon, seed=10 + i)
        for i, (market, (policy, how, epsilon)) in enumerate(zip(prior.markets(1, count=3), settings, strict=True))
    ]


def difference(there: Trials, here: Trials) -> Difference:
    """Of two runs of the same trials."""
    same = all(np.array_equal(*pair) for pair in zip(there.estimate_periods, here.estimate_periods, strict=True))
    scale = 1.0 + np.abs(here.regret_at)
    rest = np.array([i for i in range(tally.TOTALS) if i != tally.REGRET])
    totals = np.nan_to_num(np.abs(there.totals - here.totals)[:, rest] / (1.0 + np.abs(here.totals[:, rest])))
    return Difference(
        same_periods=same,
        regret=float((np.abs(there.regret_at - here.regret_at) / scale).max()),
        totals=float(totals.max()),
        estimates=sum(map(len, here.estimate_periods)),
    )
