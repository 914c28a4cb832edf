"""A market, a policy and a trial as the kernels take them."""

from __future__ import annotations

from typing import NamedTuple

from hushprice.numerics.jit import step
from hushprice.simulation.contexts import Stream
from hushprice.types import FloatArray, IntArray


class KernelMarket(NamedTuple):
    """A market as the kernels take it."""

    family: int
    slope: float
    bound: float
    map: int
    theta: FloatArray
    stream: Stream
    changed: int  # the period whose record is given instead of drawn; 0: none (simulation/changed_record.py)
    changed_x: FloatArray  # its context; empty: as drawn
    changed_demand: float  # what it buys; NaN: as drawn
    customers: int  # the trial whose customers and exploration prices every trial gets; -1: its own


RANDOM, FIXED, CLAIRVOYANT, LEARNING = range(4)  # how a period's price is found; the last is alg:framework


class KernelPolicy(NamedTuple):
    """alg:framework or a baseline as the kernels take it."""

    code: int
    exploration: int
    ridge: float
    width: float
    max_estimates: int
    scales: FloatArray  # noise of every entry of a covariance's upper triangle; all zero for none
    estimate_noise: float
    estimate_ridge: float
    output_noise: float
    repair: int
    input_noise: float
    price: float
    exact: FloatArray  # the covariance stream's empty state
    running: FloatArray
    poles: FloatArray  # of the Toeplitz strategy; none for the tree
    zeros: FloatArray


class TrialInput(NamedTuple):
    """Which trial is run, and how it is watched from outside."""

    seed: int
    trial: int
    horizon: int
    control: IntArray  # the first entry stops it when raised; empty where nobody watches
    counter: int  # the entry of control that counts periods


class TrialOutput(NamedTuple):
    """What a trial leaves."""

    checkpoints: IntArray  # given: the last is the horizon
    regret_at: FloatArray  # cumulative, at the checkpoints
    totals: FloatArray  # tally.py says of what
    estimate_periods: IntArray
    prices: FloatArray  # of every period, or empty


OVER, STOPPED, DUE = range(3)  # why a kernel's `advance` came back


@step
def customer_trial(customers: int, trial: int) -> int:
    """The trial whose customers come, where `customers` is a world's; noise is always the trial's own."""
    return trial if customers < 0 else customers
