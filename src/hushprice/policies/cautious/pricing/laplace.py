"""Laplace noise read as what it is: a sum that is far out tells less, and one that is not tells more than normal noise
of the same deviation would let it."""

from __future__ import annotations

import numpy as np

from hushprice.types import FloatArray

_TURNS = 4


def noise_variance(variance: FloatArray, away: FloatArray, noise: FloatArray, laplace: float) -> FloatArray:
    """The variances that noise of these deviations is read with: 0 of `laplace` is as normal noise, 1 as Laplace."""
    normal = noise * noise
    if laplace == 0.0:
        return normal
    return np.asarray(normal + laplace * (laplace_variance(variance, away, noise) - normal))


def laplace_variance(variance: FloatArray, away: FloatArray, noise: FloatArray) -> FloatArray:
    """The variances of normal noise that weighs what Laplace noise of these deviations does, with residuals `away`.

    All have a row a batch; `variance` is that of residuals without the noise. A Laplace number is a normal one whose
    variance is exponential. That and the noise drawn are expected by turns (variational Bayes). No less than half the
    square of the deviation: then a residual tells what a Laplace number tells about its middle (Fisher).
    """
    least, diagonal = 0.5 * noise * noise, np.arange(noise.shape[1])
    found = 2.0 * least
    for _ in range(_TURNS):
        whole = variance.copy()
        whole[:, diagonal, diagonal] += found
        inverse = np.linalg.inv(whole)
        drawn = found * np.einsum("bij,bj->bi", inverse, away)
        unsure = np.maximum(found - found * found * inverse[:, diagonal, diagonal], 0.0)
        found = np.maximum(np.sqrt(least * (drawn * drawn + unsure)), least)
    return np.asarray(found)
