"""Linear algebra for the small symmetric matrices of a policy: plain loops that run in a kernel and on a GPU.

A symmetric d x d matrix travels as its upper triangle, packed row by row into d (d + 1) / 2 numbers.
"""

from __future__ import annotations

import numpy as np

from hushprice.numerics.functions import log
from hushprice.numerics.jit import inlined, step
from hushprice.types import FloatArray

_SWEEPS = 60  # Jacobi needs about ten; the bound only makes the loop end whatever rounding does


@inlined
def packed_size(dimension: int) -> int:
    """Entries of a packed symmetric matrix."""
    return dimension * (dimension + 1) // 2


@inlined
def unpack(packed: FloatArray, dimension: int, out: FloatArray) -> None:
    """Write the packed upper triangle into the full symmetric matrix `out`."""
    k = 0
    for i in range(dimension):
        for j in range(i, dimension):
            out[i, j] = packed[k]
            out[j, i] = packed[k]
            k += 1


@inlined
def cholesky(matrix: FloatArray, dimension: int, out: FloatArray) -> bool:
    """Lower Cholesky factor into `out`; False (and `out` undefined) when the matrix is not positive definite."""
    for i in range(dimension):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i == j:
                if not 0.0 < total < np.inf:  # NaN counts as not positive
                    return False
                out[i, i] = np.sqrt(total)
            else:
                out[i, j] = total / out[j, j]
    return True


@step
def log_determinants(
    packed: FloatArray,
    ridge: float,
    dimension: int,
    count: int,
    out: FloatArray,
    work: FloatArray,
    square: FloatArray,
) -> None:
    """Of each of `count` matrices (packed + ridge I): the sign of det, ln |det|, and 1 if positive definite, else 0.

    packed and work are (d (d + 1)/2, matrices), out is (3, matrices): one column a matrix, so that vector units work on
    many at once. Asked once a period, hence cheap: elimination without pivoting or square roots. Columns that turn out
    not to be definite go to elimination with pivoting, in square, which is (d, d).
    """
    sign, total, definite = out[0], out[1], out[2]
    row = 0
    for i in range(dimension):
        for j in range(i, dimension):
            shift = ridge if i == j else 0.0
            source, target = packed[row], work[row]
            for c in range(count):
                target[c] = source[c] + shift
            row += 1
    for c in range(count):
        sign[c] = 1.0  # the product of pivots so far
        total[c] = 0.0  # logarithms taken out of it so far
        definite[c] = 1.0
    first = 0
    for i in range(dimension):
        pivot = work[first]
        for c in range(count):
            definite[c] = definite[c] if pivot[c] > 0.0 else 0.0  # NaN counts as not positive
            sign[c] *= pivot[c]
        if i % 4 == 3:  # four pivots up to 1e76 still fit a float
            for c in range(count):
                total[c] += log(sign[c])
                sign[c] = 1.0
        below = first + dimension - i
        for j in range(i + 1, dimension):
            lead = work[first + j - i]
            for k in range(j, dimension):
                across, target = work[first + k - i], work[below]
                for c in range(count):
                    target[c] -= lead[c] / pivot[c] * across[c]
                below += 1
        first += dimension - i
    for c in range(count):
        total[c] += log(sign[c])
        sign[c] = 1.0
    for c in range(count):
        if not definite[c] > 0.0:
            sign[c], total[c] = _pivoted_determinant(packed, ridge, dimension, c, square)


@step
def _pivoted_determinant(
    packed: FloatArray, ridge: float, dimension: int, column: int, work: FloatArray
) -> tuple[float, float]:
    """Sign and ln |det| of any symmetric matrix; sign 0 when singular or not finite."""
    unpack(packed[:, column], dimension, work)
    for i in range(dimension):
        work[i, i] += ridge
    sign = 1.0
    total = 0.0
    for i in range(dimension):
        best = i
        for j in range(i + 1, dimension):
            if abs(work[j, i]) > abs(work[best, i]):
                best = j
        pivot = work[best, i]
        if not 0.0 < abs(pivot) < np.inf:
            return 0.0, -np.inf
        if best != i:
            sign = -sign
            for k in range(dimension):
                work[i, k], work[best, k] = work[best, k], work[i, k]
        if pivot < 0.0:
            sign = -sign
        total += log(abs(pivot))
        for j in range(i + 1, dimension):
            ratio = work[j, i] / pivot
            for k in range(i, dimension):
                work[j, k] -= ratio * work[i, k]
    return sign, total


@step
def solve_factored(factor: FloatArray, right: FloatArray, dimension: int, out: FloatArray) -> None:
    """Solve (L L') out = right."""
    for i in range(dimension):
        total = right[i]
        for k in range(i):
            total -= factor[i, k] * out[k]
        out[i] = total / factor[i, i]
    for i in range(dimension - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, dimension):
            total -= factor[k, i] * out[k]
        out[i] = total / factor[i, i]


@step
def eigen(matrix: FloatArray, dimension: int, values: FloatArray, vectors: FloatArray) -> None:
    """Eigenvalues and orthonormal eigenvectors (columns) of a symmetric matrix, by Jacobi rotations in place."""
    for i in range(dimension):
        for j in range(dimension):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        off = 0.0
        scale = 0.0
        for i in range(dimension):
            scale += matrix[i, i] * matrix[i, i]
            for j in range(i + 1, dimension):
                off += matrix[i, j] * matrix[i, j]
        if not off > 1e-32 * scale:
            break
        for p in range(dimension - 1):
            for q in range(p + 1, dimension):
                _rotate(matrix, vectors, dimension, p, q)
    for i in range(dimension):
        values[i] = matrix[i, i]


@step
def _rotate(matrix: FloatArray, vectors: FloatArray, dimension: int, p: int, q: int) -> None:
    """One Jacobi rotation that zeroes entry (p, q)."""
    entry = matrix[p, q]
    if entry == 0.0:
        return
    ratio = (matrix[q, q] - matrix[p, p]) / (2.0 * entry)
    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    if ratio < 0.0:
        tangent = -tangent
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    for k in range(dimension):
        left = matrix[k, p]
        right = matrix[k, q]
        matrix[k, p] = cosine * left - sine * right
        matrix[k, q] = sine * left + cosine * right
    for k in range(dimension):
        left = matrix[p, k]
        right = matrix[q, k]
        matrix[p, k] = cosine * left - sine * right
        matrix[q, k] = sine * left + cosine * right
    for k in range(dimension):
        left = vectors[k, p]
        right = vectors[k, q]
        vectors[k, p] = cosine * left - sine * right
        vectors[k, q] = sine * left + cosine * right
