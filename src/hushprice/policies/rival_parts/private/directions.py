"""What a customer's device sends: a random direction in the place of its gradient (docs/proofs/pure.md, 3)."""

from __future__ import annotations

import math

import numpy as np

from hushprice.noise import System
from hushprice.numerics.functions import exp
from hushprice.numerics.jit import allocating, step
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.types import FloatArray


def radius_of(dimension: int, keep: float) -> float:
    """B, for which B times the direction sent is the gradient on average."""
    gamma = math.exp(math.lgamma(0.5 * (dimension + 1)) - math.lgamma(0.5 * dimension))
    return math.sqrt(math.pi) * gamma / (2.0 * keep - 1.0)


PLAIN = 1.0 - 1e-12  # `keep` without noise: the direction still stands for the gradient


def coins_of(rng: np.random.Generator, source: Source, count: int, dimension: int, keep: float) -> FloatArray:
    """What `send` takes for so many devices: normals and two uniforms a row.

    Privacy rests on the last uniform alone. Live it says what an exact coin of the system's said: 0 is below `keep`, 1
    is not.
    """
    normals, uniforms = rng.standard_normal((count, dimension)), rng.random((count, 2))
    if isinstance(source, System):
        uniforms[:, 1] = np.where(source.truths(keep, count), 0.0, 1.0)
    return np.column_stack([normals, uniforms])


@step
def direction(
    gradient: FloatArray, normals: FloatArray, first: float, second: float, keep: float, out: FloatArray
) -> None:
    """The unit vector sent for a gradient, which is held to the unit ball; uniforms and normals are the device's coins.

    The gradient becomes +-v, v of length 1, by the first coin. The normals give a uniform point of the sphere; by the
    second coin it is turned into the half around v, or into the other.
    """
    length, far = 0.0, 0.0
    for j in range(gradient.size):
        length += gradient[j] * gradient[j]
        far += normals[j] * normals[j]
    length, far = math.sqrt(length), math.sqrt(far)
    sign = 1.0 if first < 0.5 + 0.5 * min(length, 1.0) else -1.0
    along = 0.0
    for j in range(gradient.size):
        along += normals[j] * gradient[j]
    if (along * sign >= 0.0) != (second < keep):
        far = -far
    for j in range(gradient.size):
        out[j] = normals[j] / far


@allocating
def send(
    theta: FloatArray,
    psi: FloatArray,
    offset: FloatArray,
    bought: FloatArray,
    coins: FloatArray,
    keep: float,
    out: FloatArray,
) -> None:
    """What each device sends at the public theta: of (f - y) psi, f its chance to buy; a row a customer.

    coins has d normals and two uniforms a row. Where y is no number in [0, 1] or psi is longer than 1 the gradient is
    held to the unit ball all the same, so that what is sent is as private.
    """
    d = theta.size
    gradient = np.empty(d)
    for i in range(bought.size):
        z = offset[i]
        for j in range(d):
            z += psi[i, j] * theta[j]
        error = 1.0 / (1.0 + exp(-z)) - bought[i]
        for j in range(d):
            gradient[j] = error * psi[i, j]
        direction(gradient, coins[i, :d], coins[i, d], coins[i, d + 1], keep, out[i])
