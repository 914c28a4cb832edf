"""Gradient and Hessian of a likelihood: the passes over all records that a fit consists of."""

from __future__ import annotations

import numpy as np

from hushprice.demand.family import derivatives
from hushprice.numerics.jit import inlined, step
from hushprice.numerics.linear import packed_size
from hushprice.policies.paper.tolerance import CHUNK, LANES
from hushprice.types import FloatArray

# Records are summed in blocks of _ROUNDS x LANES: record i of a block goes to running sum i mod LANES. Vector units
# then need no reassociation, so digits depend on neither the machine's vector width nor the room behind the records.
_ROUNDS = 8
BLOCK = LANES * _ROUNDS
_U_LANES, _U_BLOCK = np.uint64(LANES), np.uint64(BLOCK)  # unsigned: an index that may be negative is not vectorized


@step
def score(
    family: int,
    slope: float,
    phi: FloatArray,
    demand: FloatArray,
    count: int,
    theta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    work: FloatArray,
    every: int = 1,
) -> None:
    """Gradient and Hessian of -sum ln p over the first `count` records; phi is (d, records), one row a feature.

    With `every` > 1 a sample: of every so many blocks of records, the first.

    work holds 3 + d blocks (z, residual, weight, and a copy of d features) and d + d (d + 1)/2 running sums.
    """
    d = theta.size
    z, residual, weight = work[:BLOCK], work[BLOCK : 2 * BLOCK], work[2 * BLOCK : 3 * BLOCK]
    features = work[3 * BLOCK : (3 + d) * BLOCK]
    sums = work[(3 + d) * BLOCK : (3 + d) * BLOCK + (d + packed_size(d)) * LANES]
    for j in range(d):
        gradient[j] = 0.0
        for k in range(d):
            hessian[j, k] = 0.0
    for chunk in range(0, count, every * CHUNK):  # the privacy accounting counts on so few roundings a number
        for i in range(sums.size):
            sums[i] = 0.0
        end = min(chunk + every * CHUNK, count)
        for start in range(chunk, end, every * BLOCK):
            _weigh(family, slope, theta, phi, demand, start, min(BLOCK, end - start), features, z, residual, weight)
            _accumulate(features, residual, weight, z, sums)
        row = d
        for j in range(d):
            gradient[j] += _total(sums, j)
            for k in range(j, d):
                hessian[j, k] += _total(sums, row)
                hessian[k, j] = hessian[j, k]
                row += 1


@step
def _weigh(
    family: int,
    slope: float,
    theta: FloatArray,
    phi: FloatArray,
    demand: FloatArray,
    start: int,
    size: int,
    features: FloatArray,
    z: FloatArray,
    residual: FloatArray,
    weight: FloatArray,
) -> None:
    """One block: a copy of its features, its losses' first and second derivatives at z = phi'theta; 0 past `size`."""
    first, filled = np.uint64(start), np.uint64(size)
    for i in range(_U_BLOCK):
        z[i] = 0.0
    for j in range(theta.size):
        at, row, to = theta[j], phi[j], np.uint64(j) * _U_BLOCK
        for i in range(filled):
            x = row[first + i]
            features[to + i] = x
            z[i] += at * x
        for i in range(filled, _U_BLOCK):
            features[to + i] = 0.0
    for i in range(filled):
        f, s, _ = derivatives(family, slope, z[i])
        residual[i] = slope * (f - demand[first + i])
        weight[i] = slope * s
    for i in range(filled, _U_BLOCK):
        residual[i] = 0.0
        weight[i] = 0.0


@step
def _accumulate(
    features: FloatArray, residual: FloatArray, weight: FloatArray, product: FloatArray, sums: FloatArray
) -> None:
    """Add residual phi_j, then weight phi_j phi_k (j <= k), to the running sums. The arguments must not overlap."""
    end = np.uint64(features.size)
    to = _add_products(residual, features, np.uint64(0), end, sums, np.uint64(0))
    for j in range(features.size // BLOCK):
        row = np.uint64(j) * _U_BLOCK
        for i in range(_U_BLOCK):
            product[i] = weight[i] * features[row + i]
        to = _add_products(product, features, row, end, sums, to)


@inlined
def _add_products(
    left: FloatArray, features: FloatArray, row: np.uint64, end: np.uint64, sums: FloatArray, to: np.uint64
) -> np.uint64:
    """Add left times each row of features from `row` on, lane by lane; returns where the next sums lie."""
    while row < end:
        for i in range(_U_LANES):
            total = sums[to + i]
            for r in range(_ROUNDS):  # unrolled, so that a running sum is loaded and stored once a block
                at = np.uint64(r * LANES) + i
                total += left[at] * features[row + at]
            sums[to + i] = total
        row += _U_BLOCK
        to += _U_LANES
    return to


@step
def _total(sums: FloatArray, row: int) -> float:
    """One running sum's lanes, added in a fixed order."""
    total = 0.0
    for i in range(row * LANES, (row + 1) * LANES):
        total += sums[i]
    return total


@step
def longest(phi: FloatArray, count: int, work: FloatArray) -> float:
    """The largest ||phi|| of the first `count` records; at most 1 for records, more for input perturbation."""
    norm2, most = work[:BLOCK], work[BLOCK : 2 * BLOCK]
    for i in range(_U_BLOCK):
        most[i] = 0.0
    for start in range(0, count, BLOCK):
        first, filled = np.uint64(start), np.uint64(min(BLOCK, count - start))
        for i in range(filled):
            norm2[i] = 0.0
        for j in range(phi.shape[0]):
            row = phi[j]
            for i in range(filled):
                norm2[i] += row[first + i] * row[first + i]
        for i in range(filled):
            most[i] = norm2[i] if norm2[i] > most[i] else most[i]
    largest = 0.0
    for i in range(_U_BLOCK):
        largest = max(largest, most[i])
    return np.sqrt(largest)
