"""What "one record changed" means. It is an explicit value wherever a guarantee is stated, never implied."""

from __future__ import annotations

from enum import Enum


class Adjacency(Enum):
    """Two databases are neighbours when they differ in one period's record."""

    REPLACE_ONE = "replace-one"  # (x_t, y_t) becomes any other (x_t', y_t'): the paper's neighbours
    ZERO_OUT = "zero-out"  # the record's contribution becomes zero
