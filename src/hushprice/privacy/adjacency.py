"""What "one record changed" means. It is an explicit value wherever a guarantee is stated, never implied."""

from __future__ import annotations

from enum import Enum

from hushprice import checks
from hushprice.errors import InvalidInput


class Adjacency(Enum):
    """Two databases are neighbours when they differ in one period's record."""

    REPLACE_ONE = "replace-one"  # (x_t, y_t) becomes any other (x_t', y_t'): the paper's neighbours
    ZERO_OUT = "zero-out"  # the record's contribution becomes zero


def adjacency_of(name: str | Adjacency) -> Adjacency:
    """The adjacency of that name.

    >>> adjacency_of("replace-one")
    <Adjacency.REPLACE_ONE: 'replace-one'>
    """
    try:
        return Adjacency(name)
    except ValueError:
        names = ", ".join(each.value for each in Adjacency)
        raise InvalidInput(f"adjacency must be one of {names}, got {checks.shown(name)}") from None
