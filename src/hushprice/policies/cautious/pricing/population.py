"""Customers like those who came, drawn from what was released about them: eight bins an entry, and their products.

Curvature and sampling variance of a batch are computed on these instead of being released with noise. A moment equation
stays unbiased whatever Jacobian it is divided by; a poor likeness costs efficiency, never privacy or correctness.

The likeness is a Gaussian copula: entries have the released bins as their distributions, and dependence by the released
products.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import ndtr, ndtri

from hushprice.numerics.halton import scrambled_halton
from hushprice.types import FloatArray, IntArray

BINS = 8
RADIUS = 0.6  # of the ball in which products are taken, times the root of the entries: what most contexts lie in
PEOPLE = 96
_TRUST = 200.0  # customers that the first guess, spread evenly over [-0.9, 0.9], counts for
_NOISE_TRUST = 3.0  # deviations of the noise that it counts for besides


def entries(contexts: int) -> int:
    """Numbers in a description."""
    return contexts * BINS + contexts * (contexts - 1) // 2


def described(contexts: FloatArray) -> FloatArray:
    """Rows that add up to what is released: bins, then products of pairs. Two rows differ by at most sqrt(2).

    A changed bin moves two counts, so k entries move sqrt(2 k); products x_i x_j, i < j, of |x| <= r differ by at most
    r^2 for two customers. Each part is divided by what it can move.
    """
    count, k = contexts.shape
    if k == 0:
        return np.empty((count, 0))
    rows = np.zeros((count, entries(k)))
    at = np.clip(np.floor((contexts + 1.0) * (0.5 * BINS)).astype(np.int64), 0, BINS - 1)
    rows[np.arange(count)[:, None], at + BINS * np.arange(k)] = 1.0 / np.sqrt(2.0 * k)
    radius = RADIUS * np.sqrt(k)
    lengths = np.sqrt((contexts * contexts).sum(axis=1))
    x = contexts * np.minimum(1.0, radius / np.maximum(lengths, 1e-12))[:, None]
    first, second = _pairs(k)
    rows[:, k * BINS :] = x[:, first] * x[:, second] / (radius * radius)
    return rows


class Population:
    """Everything released about contexts so far, and customers drawn from it."""

    def __init__(self, contexts: int, noise: float) -> None:
        self.contexts = contexts
        self.noise = noise
        self.total: FloatArray = np.zeros(
            entries(contexts)
        )  # of batches, each times its count: the least noise a share
        self.weight = 0.0  # of squared counts
        self.count = 0  # customers

    def add(self, released: FloatArray, count: int) -> None:
        """One more batch's noisy sum."""
        self.total = self.total + count * released
        self.weight += float(count) * count
        self.count += count

    def people(self) -> FloatArray:
        """PEOPLE customers, (people, k): the same releases give the same customers."""
        k = self.contexts
        if k == 0:
            return np.zeros((PEOPLE, 0))
        shares = self._shares()
        uniforms = np.clip(ndtr(_normals(k) @ self._factor(shares).T), 1e-9, 1.0 - 1e-9)
        edges = np.linspace(-1.0, 1.0, BINS + 1)
        return np.column_stack([_quantiles(uniforms[:, j], shares[j], edges) for j in range(k)])

    @property
    def doubt(self) -> float:
        """How much of the likeness is the first guess."""
        trust = self._trust(np.sqrt(2.0 * self.contexts))
        return trust / (1.0 + trust)

    def _mean(self) -> FloatArray:
        """What a customer adds, as released."""
        return self.total / max(self.weight, 1.0)

    def _trust(self, scale: float) -> float:
        """How much the first guess counts for, released numbers times `scale` counting for 1."""
        return float(_TRUST / max(self.count, 1) + _NOISE_TRUST * scale * self.noise / np.sqrt(max(self.weight, 1.0)))

    def _shares(self) -> FloatArray:
        """The share of customers in each bin of each entry, (k, BINS): shrunk to even ones as far as noise asks."""
        k = self.contexts
        scale = np.sqrt(2.0 * k)
        seen = self._mean()[: k * BINS].reshape(k, BINS) * scale
        trust = self._trust(scale)
        shares = np.maximum(seen + trust / BINS, 0.02 * (1.0 + trust) / BINS)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _factor(self, shares: FloatArray) -> FloatArray:
        """A square root of the correlations."""
        k = self.contexts
        middles = (np.arange(BINS) + 0.5) * (2.0 / BINS) - 1.0
        mean = shares @ middles
        variance = shares @ (middles * middles) - mean * mean + (2.0 / BINS) ** 2 / 12.0
        radius2 = RADIUS * RADIUS * k
        first, second = _pairs(k)
        products = self._mean()[k * BINS :] * radius2
        likeness = 1.0 / (1.0 + self._trust(radius2))
        found = likeness * (products - mean[first] * mean[second]) / np.sqrt(variance[first] * variance[second])
        correlations = np.eye(k)
        correlations[first, second] = correlations[second, first] = np.clip(found, -0.95, 0.95)
        values, vectors = np.linalg.eigh(correlations)
        factor = vectors * np.sqrt(np.maximum(values, 0.02))
        return np.asarray(factor / np.sqrt((factor * factor).sum(axis=1, keepdims=True)))


def _quantiles(uniforms: FloatArray, shares: FloatArray, edges: FloatArray) -> FloatArray:
    return np.interp(uniforms, np.concatenate([[0.0], np.cumsum(shares)]), edges)


@functools.lru_cache(maxsize=64)
def _pairs(k: int) -> tuple[IntArray, IntArray]:
    first, second = np.triu_indices(k, 1)
    return first, second


@functools.lru_cache(maxsize=64)
def _normals(k: int) -> FloatArray:
    """Fixed, well spread standard normals, (PEOPLE, k)."""
    points = scrambled_halton(PEOPLE, k, seed=1)
    return np.asarray(ndtri(np.clip(points, 1e-6, 1.0 - 1e-6)))
