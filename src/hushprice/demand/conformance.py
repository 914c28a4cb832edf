"""Does a demand family keep what it declares? For those who bring their own (`demand/protocol.py`).

Every constant of a family sets the size of some noise or bonus, so a wrong one breaks a guarantee without a sound. The
checks are numerical, on a fixed grid: they find mistakes, they do not prove that there are none. Demand must lie on the
whole numbers or have a density.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hushprice.demand.protocol import Demand, lowest, steepest
from hushprice.types import FloatArray

_REACH = np.linspace(-2.0, 2.0, 401)  # condition 4 speaks of |z| <= 2
_MARKET = np.linspace(-1.0, 1.0, 5)  # ||phi||, ||theta*|| <= 1: where demand is drawn
_ROUNDING = 1e-9
_POINTS = 8192
_FIRST = (np.arange(_POINTS) + 0.5) / _POINTS  # with _SECOND, pairs spread evenly over the unit square
_SECOND = np.modf((np.arange(_POINTS) + 0.5) * 0.6180339887498949)[0]
_TILTS = np.array([-4.0, -2.0, -1.0, -0.3, -0.1, 0.1, 0.3, 1.0, 2.0, 4.0])  # lambda, in units of 1/s


def violations(demand: Demand) -> list[str]:
    """What the family declares and does not keep, one sentence each; empty when every check passes.

    Paper: sec:models, conditions 1, 3, 4 and 5 (2 is the feature map's). The constants come first, then the curve f,
    then demand itself; a part is checked when the ones it builds on hold. Demand is held against its law after
    clipping, whose mean differs from f by what clipping takes away.

    >>> from hushprice.demand.families import Logistic
    >>> violations(Logistic(slope=4.0))
    []
    """
    found = list(_constants(demand)) or list(_curve(demand))
    for z in _MARKET:
        found = found or [f"{message} (at z = {z:g})" for message in _demand(demand, z)]
    return found


def _constants(demand: Demand) -> Iterator[str]:
    least = {"slope": 0.0, "bound": 0.0, "subgaussian": 0.0, "largest_revenue": 0.0, "curvature": 1.0, "scale": 1.0}
    for name, low in least.items():
        value = float(getattr(demand, name))
        if not (low <= value < math.inf and value > 0.0):  # NaN must fail
            yield f"{name} must be a positive number{' at or above 1' if low else ''}, got {value!r}"
    if not 0.0 < steepest(demand) < math.inf:
        yield f"steepest must be a positive number, got {steepest(demand)!r}"
    if not -demand.bound <= lowest(demand) < demand.bound:
        yield f"lowest must lie in [-{demand.bound:g}, {demand.bound:g}), got {lowest(demand)!r}"
    if not (demand.slope * demand.scale >= 1.0 - _ROUNDING and demand.slope <= demand.scale * (1.0 + _ROUNDING)):
        yield f"scale: the slope {demand.slope:g} lies outside [1/G, G] for G = {demand.scale:g}"


def _curve(demand: Demand) -> Iterator[str]:
    f, steep = demand.mean(_REACH), demand.mean_slope(_REACH)
    step = 1e-4 / min(max(demand.slope, 1.0), 100.0)
    for says, stated, function in (
        ("mean: not m'", f, demand.log_partition),
        ("mean_slope: not f'", steep, demand.mean),
    ):
        measured = (function(_REACH + step) - function(_REACH - step)) / (2.0 * step)
        wrong = ~(np.abs(stated - measured) <= 1e-6 * (1.0 + np.abs(measured)))
        if wrong.any():
            at = int(wrong.argmax())
            yield f"{says}: {stated[at]:g} against {measured[at]:g} by differences (at z = {_REACH[at]:g})"
    if not (np.diff(f) >= 0.0).all():
        yield "mean: f does not increase"
    if not (steep <= demand.curvature * (1.0 + _ROUNDING)).all():
        yield f"curvature: f' reaches {steep.max():g} on |z| <= 2, above K = {demand.curvature:g}"
    if not (steep <= steepest(demand) * (1.0 + _ROUNDING)).all():
        yield f"steepest: f' reaches {steep.max():g} on |z| <= 2, above {steepest(demand):g}"
    if not (steep * demand.curvature >= 1.0 - _ROUNDING).all():
        yield f"curvature: f' falls to {steep.min():g} on |z| <= 2, below 1/K = {1.0 / demand.curvature:g}"
    most = f[np.abs(_REACH) <= 1.0].max()  # p f(z) is largest at p = 1 or, where f < 0, at p = 0
    if not most <= demand.largest_revenue * (1.0 + _ROUNDING):
        yield f"largest_revenue: p f(z) reaches {most:g} on |z| <= 1, above {demand.largest_revenue:g}"


def _demand(demand: Demand, z: float) -> Iterator[str]:
    f, steep = float(demand.mean(np.array([z]))[0]), float(demand.mean_slope(np.array([z]))[0])
    spread = math.sqrt(steep / demand.slope)  # the deviation of an exponential family
    y, cell = _support(demand, f, 20.0 * spread)
    at = np.full(y.size, z)
    logarithm = demand.log_likelihood(y, at)
    stated = demand.slope * (y * z - demand.log_partition(at)) + demand.log_base(y)
    if not np.allclose(logarithm, stated, rtol=_ROUNDING, atol=_ROUNDING * (1.0 + demand.slope)):
        yield "log_likelihood: not slope (y z - m(z)) + h(y)"
    weight = cell * np.exp(logarithm)
    if not abs(weight.sum() - 1.0) <= 2e-3:
        yield f"log_likelihood: the probabilities add up to {weight.sum():g}"
        return
    y, weight = y[weight > 0.0], weight[weight > 0.0] / weight.sum()
    if not abs(weight @ y - f) <= 2e-3 * spread:
        yield f"log_likelihood: its mean {weight @ y:g} is not f = {f:g}"
    clipped = np.clip(y, lowest(demand), demand.bound)  # as records are
    centred = clipped - weight @ clipped
    if not (_log_moments(demand, centred, weight) <= 0.5 * _TILTS**2 * (1.0 + 1e-3)).all():
        yield f"subgaussian: E exp(l (y - E y)) passes exp(l^2 s^2 / 2) for s = {demand.subgaussian:g}"
    drawn = demand.sample(np.full(_POINTS, z), _FIRST, _SECOND)
    if not (np.abs(drawn) <= demand.bound).all():
        yield f"bound: a sample lies outside [-{demand.bound:g}, {demand.bound:g}]"
    if (drawn < lowest(demand)).any():
        yield f"lowest: a sample lies below {lowest(demand):g}"
    for moment, power in (("mean", 1), ("variance", 2)):
        expected = weight @ centred**power
        measured = float(np.mean((drawn - weight @ clipped) ** power))
        error = math.sqrt(max(weight @ centred ** (2 * power) - expected**2, 0.0) / _POINTS)
        if not abs(measured - expected) <= 5.0 * error + 1e-6 * spread**power:  # false alarm: 6e-7, were they random
            yield f"sample: the {moment} is {measured - expected:+g} off, where {error:g} is one standard error"


def _support(demand: Demand, middle: float, width: float) -> tuple[FloatArray, float]:
    """Values demand may take around the middle, and the length each stands for."""
    if (demand.log_base(np.array([1.0 / 3.0, 0.5, math.sqrt(2.0)])) == -np.inf).all():
        return np.arange(math.floor(middle - width) - 50.0, math.ceil(middle + width) + 51.0), 1.0
    return np.linspace(middle - width, middle + width, 8001), width / 4000


def _log_moments(demand: Demand, centred: FloatArray, weight: FloatArray) -> FloatArray:
    """ln E exp(l y) for every tilt l."""
    exponents = _TILTS[:, np.newaxis] / demand.subgaussian * centred
    top = exponents.max(axis=1)
    return top + np.log(np.exp(exponents - top[:, np.newaxis]) @ weight)
