"""From a bound on the privacy loss to (epsilon, delta), tight at any delta.

With X = G + Y the total loss of loss.py, delta(epsilon) <= E[(1 - e^(epsilon - X))+] = E_Y[delta_G(epsilon - Y)], where
delta_G is the closed form of gaussian.py. The law of Y, a sum of independent lengths, is found on a grid, each length
rounded up, by a fast Fourier transform of the *tilted* law e^(t y) P(Y = y) / E e^(tY). Tilting moves the bulk of the
law to where delta is made, so small deltas are as exact as large ones: every term of the sum is at most the Chernoff
bound E e^(tX) / e^(t epsilon), and rounding errors with it. docs/proofs/composition.md says why each step errs upwards.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp

from hushprice import checks
from hushprice.privacy import gaussian
from hushprice.privacy.loss import Loss, Radial
from hushprice.privacy.roots import brentq, minimize_scalar
from hushprice.types import FloatArray

LEAST_DELTA = 1e-250  # far below any of use; below it shares of delta leave the floats
_PER_LENGTH = 256  # grid points to one unit of a length: rounding up costs about 0.2 % of Y
_SPARE = 1e-6  # the share of delta spent on lengths beyond the grid
FAILED = 0.1  # the share of delta spent on losses that do not hold
_GRIDDED = 1e-4  # the share of delta spent on discrete noise beyond the proof's reach
_MOST_BINS = 2**21
_MOST_EPSILON = 1e6  # beyond, digits are of no use to anybody
_MOST_LENGTHS = 2**15  # beyond, bins of the widest grid are longer than the lengths, and Renyi divergences do better
_FILTERED = 2**36  # numbers drawn on a grid under one filter, at most
_ROUNDING = 2.0**-40  # a bound on the error of one entry of a law found by Fourier transform; its total is 1
_TRANSFORM = 2.0**-50  # the same for each release and each doubling of the transform's length, where that is more
_ROOT = 2e-9  # an epsilon found by searching is raised by this share, more than the search may stop short


def epsilon_of(loss: Loss, delta: float) -> float:
    """The least epsilon this proves at delta; infinity where nothing is proved. A pure loss needs no delta."""
    if loss == Loss(pure=loss.pure) and loss.pure > 0.0 and delta == 0.0:
        return loss.pure
    checks.probability(delta=delta)
    checks.at_least(LEAST_DELTA, delta=delta)
    if loss.unbounded:
        return math.inf
    if loss.failure != 0.0:
        return _epsilon_despite(loss, delta)
    if loss.epsilon > 0.0 or loss.delta > 0.0:  # docs/proofs/composition.md, section 6: both add to what the rest costs
        rest = replace(loss, epsilon=0.0, delta=0.0)
        left = delta - loss.delta
        return loss.epsilon + epsilon_of(rest, left) if left >= LEAST_DELTA else math.inf
    if loss.coordinates == 0:
        return _ideal_epsilon(loss, delta)
    # docs/proofs/discrete_noise.md: delta(eps) <= e^eta delta_ideal(eps - 2 eta) + spare, eta as below.
    ideal = _ideal_epsilon(loss, delta * (1.0 - 2.0 * _GRIDDED))
    eta = _log_ratio(loss.coordinates, ideal, delta)
    if not eta <= _GRIDDED / 2:  # e^eta (1 - 2 share) + share <= 1 needs a small eta; far from any setting of use
        return math.inf
    return ideal + 2.0 * eta


def _epsilon_despite(loss: Loss, delta: float) -> float:
    """Epsilon where the loss may fail to hold: delta(eps) <= delta_held(eps) + (1 + e^eps) failure.

    docs/proofs/log_schema.md, section 3. The last term gets a fixed share of delta; infinity where it needs more.
    """
    held = epsilon_of(replace(loss, failure=0.0), delta * (1.0 - FAILED))
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.logaddexp(0.0, held) + np.log(loss.failure)
    return held if needed <= math.log(FAILED * delta) else math.inf  # NaN is more


def fits(loss: Loss, epsilon: float, delta: float) -> bool:
    """May what has this loss be released, each kind and its noise chosen in view of what came before? A filter.

    `epsilon_of` is none: it is for releases planned in advance, and whoever may choose between two plans that both cost
    delta, in view of the losses so far, takes the worse of the two each time and reaches nearly 2 delta. Moments at one
    order fixed in advance do add up whatever is chosen (Feldman and Zrnic, "Individual privacy accounting via a Renyi
    filter", 2021). The order is the best one for a Gaussian release that costs the whole budget.
    """
    stated = loss.failure != 0.0 or loss.epsilon > 0.0 or loss.delta > 0.0
    if loss.unbounded or stated or loss.coordinates > _FILTERED or epsilon == 0.0:
        return False
    ideal = delta * (1.0 - 2.0 * _GRIDDED)
    _, tilt = renyi_epsilon(Loss(mu_squared=gaussian.mu_of(epsilon, delta) ** 2), ideal)
    return _converted(loss, tilt, ideal) + 2.0 * _log_ratio(_FILTERED, epsilon, delta) <= epsilon


def _log_ratio(coordinates: int, epsilon: float, delta: float) -> float:
    """eta: how far the log-likelihoods of all discrete and of all rounded Gaussian numbers can be apart.

    Within `reach` deviations each is within (reach^2 + 1)/8 of the squared grid fineness, at most 2^-64. Beyond it lies
    at most the share _GRIDDED of delta, in both worlds together.
    """
    outside = math.log(2.0 * coordinates) + np.logaddexp(0.0, epsilon + 1.0) - math.log(_GRIDDED * delta)
    reach = 1.0 + math.sqrt(2.0 * outside)
    return coordinates * (reach * reach + 1.0) / 8.0 * 2.0**-64


@functools.lru_cache(maxsize=512)
def _ideal_epsilon(loss: Loss, delta: float) -> float:
    if not loss.radials:
        return loss.pure + gaussian.epsilon_of(delta, math.sqrt(loss.mu_squared))
    renyi, tilt = renyi_epsilon(loss, delta)
    if sum(radial.count for radial in loss.radials) > _MOST_LENGTHS or not renyi <= _MOST_EPSILON:
        return renyi
    shift = loss.pure + sum(radial.count * radial.shift for radial in loss.radials)
    law = _tilted_law(loss.radials, tilt, delta)
    beyond = sum(radial.count * math.exp(-0.5 * _reach(radial, delta) ** 2) for radial in loss.radials)
    target = math.log(delta - beyond)

    def excess(epsilon: float) -> float:
        """How far ln delta(epsilon) lies above the target."""
        left = epsilon - shift - law.values
        if loss.mu_squared > 0.0:
            cost = gaussian.log_delta(left, math.sqrt(loss.mu_squared))
        else:
            cost = np.log(np.maximum(-np.expm1(np.minimum(left, 0.0)), 5e-324))
        made = logsumexp(law.log_weights - tilt * law.values + cost)
        chernoff = 0.5 * tilt * (tilt + 1.0) * loss.mu_squared - tilt * (epsilon - shift)
        return float(law.log_moment + np.logaddexp(made, chernoff + law.log_lost)) - target

    if excess(0.0) <= 0.0:
        return 0.0
    if not excess(renyi) < 0.0:  # one large loss: rounding it up can cost more than the exact law gains
        return renyi
    root = float(brentq(excess, 0.0, renyi, xtol=1e-12, rtol=1e-9))
    return min(renyi, root + _ROOT * (root + 1e-3))


def renyi_epsilon(loss: Loss, delta: float) -> tuple[float, float]:
    """Epsilon by Renyi divergences alone, and the tilt (order - 1) that gives it: a little looser, in closed form.

    Conversion: Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020, proposition 12.
    """

    best = minimize_scalar(
        lambda log_tilt: _converted(loss, math.exp(log_tilt), delta),
        bounds=(math.log(1e-4), math.log(1e9)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return max(0.0, float(best.fun)), math.exp(float(best.x))


def _converted(loss: Loss, tilt: float, delta: float) -> float:
    """Epsilon by the Renyi divergence of one order, tilt + 1."""
    order = tilt + 1.0
    return log_moment(loss, tilt) / tilt + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / tilt


def log_moment(loss: Loss, tilt: float) -> float:
    """ln E e^(tilt X); divided by the tilt, a Renyi divergence of order tilt + 1."""
    total = tilt * loss.pure + 0.5 * tilt * (tilt + 1.0) * loss.mu_squared
    for radial in loss.radials:
        total += radial.count * (tilt * radial.shift + _log_length_moment(tilt * radial.scale, radial.degree))
    return total


def _log_length_moment(t: float, degree: int) -> float:
    """ln E e^(t R): R = |Z| in one dimension, Rayleigh in two."""
    if degree == 1:
        return 0.5 * t * t + math.log(2.0) + float(log_ndtr(t))
    return float(np.logaddexp(0.0, math.log(t) + 0.5 * math.log(2.0 * math.pi) + 0.5 * t * t + log_ndtr(t)))


def _reach(radial: Radial, delta: float) -> float:
    """A length past which all of a radial's draws together have probability at most the spare share of delta.

    P(R > r) is e^(-r^2/2) in two dimensions and at most that in one.
    """
    return math.sqrt(2.0 * (math.log(2.0 * radial.count) - math.log(_SPARE * delta)))


class _TiltedLaw(NamedTuple):
    """The law of Y without its shifts, seen through e^(tilt y)."""

    values: FloatArray
    log_weights: FloatArray
    log_moment: float  # ln E e^(tilt Y)
    log_lost: float  # weight that rounding may have hidden or that was left out, in all


def _tilted_law(radials: tuple[Radial, ...], tilt: float, delta: float) -> _TiltedLaw:
    reach = sum(radial.count * radial.scale * _reach(radial, delta) for radial in radials)
    width = max(min(radial.scale for radial in radials) / _PER_LENGTH, reach / _MOST_BINS)
    lengths = [_tilted_length(radial, width, tilt, delta) for radial in radials]
    size = 1 + sum(radial.count * (weights.size - 1) for radial, (weights, _) in zip(radials, lengths, strict=True))
    padded = 1 << (size - 1).bit_length()  # the sum never wraps around
    spectrum = np.ones(padded // 2 + 1, dtype=complex)
    log_moment = 0.0
    for radial, (weights, log_mass) in zip(radials, lengths, strict=True):
        spectrum *= np.fft.rfft(weights, padded) ** radial.count
        log_moment += radial.count * log_mass
    law: FloatArray = np.fft.irfft(spectrum, padded)[:size]
    draws = 1 + sum(radial.count for radial in radials)
    rounding = max(_ROUNDING, _TRANSFORM * draws * padded.bit_length())
    kept = np.flatnonzero(law > rounding)
    return _TiltedLaw(kept.astype(np.float64) * width, np.log(law[kept]), log_moment, math.log(2.0 * rounding * size))


def _tilted_length(radial: Radial, width: float, tilt: float, delta: float) -> tuple[FloatArray, float]:
    """P(scale R rounded up to the grid = k width) e^(tilt k width), normalized; and the logarithm of its sum."""
    edges = np.arange(2 + math.ceil(_reach(radial, delta) * radial.scale / width)) * (width / radial.scale)
    survival = -0.5 * edges * edges if radial.degree == 2 else math.log(2.0) + log_ndtr(-edges)
    log_mass = survival[:-1] + np.log(-np.expm1(np.diff(survival)))
    tilted = np.concatenate([[-np.inf], log_mass + tilt * width * np.arange(1, edges.size)])
    total = float(logsumexp(tilted))
    return np.exp(tilted - total), total
