"""The usual customer's context, quickly: what every quote does. Anything unusual is left to contexts.py.

A value of the declared type inside its bounds is encoded here, as demand/schema.py would to the last digit. A value out
of bounds, of another type or missing gives None: the slow reader then clips it, or says what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

from hushprice.demand.schema import Attribute, Boolean, Category, Number, Schema

Encode = Callable[[object], tuple[float, ...] | None]


class QuickContextReader:
    """Reads attributes or a context into the bytes that a record keeps: little-endian float64."""

    def __init__(self, schema: Schema | None, contexts: int) -> None:
        self._pack = struct.Struct(f"<{contexts}d").pack
        self._contexts = contexts
        self._attributes = None if schema is None else [(each.name, _encoder(each)) for each in schema.attributes]

    def read(self, attributes: Mapping[str, object] | None, context: Sequence[float] | None) -> bytes | None:
        """The context, or None where the slow reader must look."""
        declared = self._attributes
        if declared is None:
            if attributes is not None or context is None or len(context) != self._contexts:
                return None
            usual = all(type(value) is float and -1.0 <= value <= 1.0 for value in context)
            return self._pack(*context) if usual else None
        if context is not None or attributes is None or len(attributes) != len(declared):
            return None
        entries: list[float] = []
        for name, encode in declared:
            encoded = encode(attributes.get(name))
            if encoded is None:
                return None
            entries += encoded
        return self._pack(*entries)


def _encoder(attribute: Attribute) -> Encode:
    if isinstance(attribute, Number):
        return _of_number(attribute)
    if isinstance(attribute, Boolean):
        return lambda value: (1.0,) if value is True else (-1.0,) if value is False else None
    return _of_category(attribute)


def _of_number(number: Number) -> Encode:
    low, high = number.low, number.high
    width = high - low
    there: tuple[float, ...] = (0.0,) if number.flag_missing else ()

    def encode(value: object) -> tuple[float, ...] | None:
        if type(value) is not float or not low <= value <= high:
            return None
        return (2.0 * ((value - low) / width) - 1.0, *there)

    return encode


def _of_category(category: Category) -> Encode:
    levels = {level: tuple(category.encode(level)) for level in category.levels}
    return lambda value: levels.get(value) if type(value) is str else None
