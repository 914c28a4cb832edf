"""Checks at the edge. Each is written so that NaN fails, and each message names the field and the value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.types import FloatArray


def finite(**values: float) -> None:
    """Refuse anything that is not a finite number."""
    for name, value in values.items():
        if not _is_number(value):
            raise InvalidInput(f"{name} must be a finite number, got {shown(value)}")


def positive(**values: float) -> None:
    """Refuse anything that is not a finite number above zero.

    >>> positive(epsilon=0.0)
    Traceback (most recent call last):
    hushprice.errors.InvalidInput: epsilon must be a positive number, got 0.0
    """
    for name, value in values.items():
        if not (_is_number(value) and value > 0):  # "not >" rather than "<=": NaN must fail
            raise InvalidInput(f"{name} must be a positive number, got {shown(value)}")


def non_negative(**values: float) -> None:
    """Refuse anything that is not a finite number at or above zero."""
    at_least(0, **values)


def at_least(low: float, **values: float) -> None:
    """Refuse anything that is not a finite number at or above `low`."""
    for name, value in values.items():
        if not (_is_number(value) and value >= low):
            raise InvalidInput(f"{name} must be a number at or above {low:g}, got {shown(value)}")


def probability(**values: float) -> None:
    """Refuse anything outside the open interval (0, 1)."""
    for name, value in values.items():
        if not (_is_number(value) and 0 < value < 1):
            raise InvalidInput(f"{name} must lie strictly between 0 and 1, got {shown(value)}")


def within(low: float, high: float, **values: float) -> None:
    """Refuse anything outside the closed interval [low, high]."""
    for name, value in values.items():
        if not (_is_number(value) and low <= value <= high):
            raise InvalidInput(f"{name} must lie in [{low:g}, {high:g}], got {shown(value)}")


def whole(low: int, **values: int) -> None:
    """Refuse anything that is not a whole number at or above `low`."""
    for name, value in values.items():
        if isinstance(value, _NOT_NUMBERS) or not isinstance(value, (int, np.integer)) or value < low:
            raise InvalidInput(f"{name} must be a whole number at or above {low}, got {shown(value)}")


def flag(**values: bool) -> None:
    """Each value is True or False."""
    for name, value in values.items():
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidInput(f"{name} must be True or False, got {shown(value)}")


def one_of(choices: Sequence[str], **values: str) -> None:
    """Each value is one of the choices."""
    for name, value in values.items():
        if value not in choices:
            raise InvalidInput(f"{name} must be one of {', '.join(choices)}, got {shown(value)}")


def vector(length: int, **values: object) -> FloatArray:
    """The one named value as a float vector of `length` finite entries, or a refusal that names the entry."""
    ((name, value),) = values.items()
    try:
        given = np.asarray(value)
    except ValueError:  # rows of unequal length
        given = np.asarray("")
    if given.dtype.kind not in "iuf":  # NumPy would read text, flags, times and complex numbers as numbers
        raise InvalidInput(f"{name} must be a vector of {length} numbers, got {shown(value)}")
    array = given.astype(np.float64, copy=False)
    if array.shape != (length,):
        raise InvalidInput(f"{name} must have {length} entries, got shape {array.shape}")
    for index, entry in enumerate(array):
        if not math.isfinite(entry):
            raise InvalidInput(f"{name}[{index}] must be a finite number, got {float(entry)!r}")
    return array


def shown(value: object) -> str:
    """The value as one readable line, whatever was sent."""
    try:
        text = " ".join(repr(value).splitlines())
    except ValueError:  # Python prints no integer above 4300 digits
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}..."


_NOT_NUMBERS = (bool, np.timedelta64)  # the first is an int to Python, the second an integer to NumPy


def _is_number(value: object) -> bool:
    if isinstance(value, _NOT_NUMBERS) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False
