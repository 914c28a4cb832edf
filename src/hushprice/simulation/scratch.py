"""A market and a policy as the kernels take them, and the scratch they work in."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from hushprice.numerics.jit import step
from hushprice.numerics.linear import packed_size
from hushprice.price_search import many
from hushprice.simulation.contexts import Stream
from hushprice.types import FloatArray, IntArray

STRETCH = 512


class World(NamedTuple):
    """A market as the kernels take it."""

    family: int
    slope: float
    bound: float
    map: int
    theta: FloatArray
    stream: Stream
    changed: int  # the period whose record is given instead of drawn; 0: none (simulation/change.py)
    changed_x: FloatArray  # its context; empty: as drawn
    changed_demand: float  # what it buys; NaN: as drawn
    customers: int  # the trial whose customers and exploration prices every trial gets; -1: its own


class Plan(NamedTuple):
    """A policy as the kernels take it."""

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


# What a trial leaves: checkpoints, regret at them, totals, periods of estimates, prices (or none).
Kept: TypeAlias = tuple[IntArray, FloatArray, FloatArray, IntArray, FloatArray]


class Stretch(NamedTuple):
    """Scratch for one stretch of periods, one column a period."""

    x: FloatArray  # contexts
    u: FloatArray  # features of the true context
    v: FloatArray
    seen_x: FloatArray  # what the policy sees of them (input perturbation)
    seen_u: FloatArray  # and, once prices are known, the records
    seen_v: FloatArray
    line: FloatArray  # rows: a*, b*, clairvoyant price, clairvoyant revenue
    curve: FloatArray  # rows: a, b, q0, q1, q2, two of scratch
    clipped: FloatArray  # 1 where a record had to be scaled into the unit ball
    out: FloatArray  # rows: price, z*, revenue, surplus, demand
    noise: FloatArray  # covariance noise
    summands: FloatArray  # phi phi' of each record
    released: FloatArray  # covariance released before each period
    pivots: FloatArray  # scratch of its determinant
    test: FloatArray  # rows: sign, ln |det|, definite
    search: FloatArray  # scratch of the price search


TOTALS = 8  # what a trial adds up; FAILED is 1 when an estimate missed its certified tolerance
# START is the regret before the first price that was learned; only noisy-newton tells it apart.
REGRET, REVENUE, SURPLUS, ESTIMATES, INDEFINITE, CLIPPED, FAILED, START = range(TOTALS)


@step
def luck(world: World, trial: int) -> int:
    """The trial whose customers come; noise is always the trial's own."""
    return trial if world.customers < 0 else world.customers


@step
def scratch(k: int, d: int) -> Stretch:
    """Room for one stretch. A GPU's threads have their own, one period wide."""
    return Stretch(
        np.empty((k, STRETCH)),
        np.empty((d, STRETCH)),
        np.empty((d, STRETCH)),
        np.empty((k, STRETCH)),
        np.empty((d, STRETCH)),
        np.empty((d, STRETCH)),
        np.empty((4, STRETCH)),
        np.empty((7, STRETCH)),
        np.empty(STRETCH),
        np.empty((5, STRETCH)),
        np.zeros((4 * ((packed_size(d) + 3) // 4), STRETCH)),
        np.empty((packed_size(d), STRETCH)),
        np.empty((packed_size(d), STRETCH)),
        np.empty((packed_size(d), STRETCH)),
        np.empty((3, STRETCH)),
        np.empty(many.WORK),
    )
