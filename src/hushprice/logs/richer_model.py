"""Would a richer model say more? A score test of squared price, squares and products of attributes.

Robust: residuals of a customer's rows may hang together, and demand need not be 0 or 1 (White, "Maximum likelihood
estimation of misspecified models", 1982). Exact, for the operator alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaincc

from hushprice.logs.buckets import BucketSums, buckets_of
from hushprice.logs.log_reader import LogReader
from hushprice.logs.rows import LogRows
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray

MOST_TERMS = 40
_RIDGE = 1e-6
_STEPS = 15
_CLOSE = 1e-7
_SINGULAR = 1e-9


@dataclass(frozen=True, kw_only=True)
class RicherTest:
    """Is demand more than the model's line? A small chance says so."""

    terms: int  # that were tried: z^2, z^2 x, x^2 and, where there are few attributes, products of two
    statistic: float  # chi-square with so many degrees of freedom, where the model is right
    chance: float  # of as large a statistic


def extra_terms(contexts: FloatArray, prices: FloatArray) -> FloatArray:
    """What the richer model has and the model has not, a row a customer."""
    square, entries = prices[:, None] ** 2, contexts.shape[1]
    terms = [square, square * contexts, contexts * contexts]
    if 1 + 2 * entries + entries * (entries - 1) // 2 <= MOST_TERMS:
        first, second = np.triu_indices(entries, 1)
        terms.append(contexts[:, first] * contexts[:, second])
    return np.hstack(terms)


def richer_test(model: ShopModel, reader: LogReader) -> RicherTest:
    """The model is fitted to the log first, without noise, so that a noisy fit is not blamed on it."""
    theta = likeliest(model, reader)
    size, extras = model.size, 0
    cross, sums = np.zeros((0, 0)), BucketSums(0)
    for rows in reader.rows():
        plain, added, residual, curve = _terms(model, rows, theta)
        if extras == 0:
            extras = added.shape[1]
            cross, sums = np.zeros((size + extras, size)), BucketSums(size + extras)
        both = np.hstack([plain, added])
        cross += (both * curve[:, None]).T @ plain
        sums.add(buckets_of(rows), both * residual[:, None])
    own = cross[:size] + _RIDGE * np.eye(size)
    project = np.linalg.solve(own, cross[size:].T).T
    moved = sums.sums[:, size:] - sums.sums[:, :size] @ project.T
    return _tested(moved, extras)


def _tested(moved: FloatArray, extras: int) -> RicherTest:
    score, variance = moved.sum(axis=0), moved.T @ moved
    values, vectors = np.linalg.eigh(variance)
    real = values > _SINGULAR * max(float(values.max(initial=0.0)), 1e-300)  # a square of a yes or no is no new term
    along = vectors[:, real].T @ score
    statistic, terms = float(np.sum(along * along / values[real])), int(real.sum())
    chance = float(gammaincc(0.5 * terms, 0.5 * statistic)) if terms else 1.0
    return RicherTest(terms=terms, statistic=statistic, chance=chance)


def likeliest(model: ShopModel, reader: LogReader) -> FloatArray:
    """Maximum likelihood, by Newton steps, a pass over the log each."""
    theta = np.zeros(model.size)
    for _ in range(_STEPS):
        gradient, curvature = np.zeros(model.size), _RIDGE * np.eye(model.size)
        for rows in reader.rows():
            plain, _, residual, curve = _terms(model, rows, theta)
            gradient += plain.T @ residual
            curvature += (plain * curve[:, None]).T @ plain
        step = np.linalg.solve(curvature, gradient)
        length = float(np.sqrt(step @ step))
        theta = theta + step * min(1.0, 4.0 / max(length, 1e-300))
        if length < _CLOSE:
            break
    return theta


def _terms(model: ShopModel, rows: LogRows, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Features of the model, those beyond it, residuals, and how fast demand changes with log-odds."""
    customers = with_constant(rows.contexts)
    plain = np.hstack([customers, -rows.prices[:, None] * customers])
    chance = expit(model.level - model.response * rows.prices + plain @ theta)
    return plain, extra_terms(rows.contexts, rows.prices), rows.demands - chance, chance * (1.0 - chance)
