"""Deltas as people write them: a number, or a formula in the horizon such as 2/T^2."""

from __future__ import annotations

import math
import re

from hushprice import checks
from hushprice.errors import InvalidInput

_FORMULA = re.compile(r"^\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*/\s*T\s*(?:(?:\^|\*\*)\s*(\d+))?\s*$")


def parse_delta(delta: float | str, horizon: int) -> float:
    """A delta strictly between 0 and 1.

    >>> parse_delta("2/T^2", 100_000), parse_delta("1/T", 10), parse_delta("1e-6", 10)
    (2e-10, 0.1, 1e-06)
    """
    if isinstance(delta, str):
        formula = _FORMULA.match(delta)
        try:
            value = _evaluate(float(formula[1]), int(formula[2] or 1), horizon) if formula else float(delta)
        except ValueError:
            raise InvalidInput(
                f"delta must be a number or a formula such as 2/T^2, got {checks.shown(delta)}"
            ) from None
        if formula and not 0.0 < value < 1.0:
            at = f"which is {value:g} at horizon {horizon}"
            raise InvalidInput(f"delta must lie strictly between 0 and 1, got {checks.shown(delta)}, {at}")
    else:
        value = delta
    checks.probability(delta=value)
    return value


def _evaluate(numerator: float, power: int, horizon: int) -> float:
    try:
        return numerator / math.pow(horizon, power)
    except OverflowError:  # a power of T that no float can hold
        return 0.0
