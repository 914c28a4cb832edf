"""From what a shop sends about a customer to the context of a quote. No message says a customer's value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hushprice.demand.schema import REFUSE, Attribute, Category, Encoded, Number, Schema, outside
from hushprice.errors import InvalidInput


class ContextReader:
    """Attributes by declared name, or a numeric context in [-1, 1]^k: one of the two, as the product says."""

    def __init__(self, schema: Schema | None, contexts: int) -> None:
        self.names = tuple(f"context[{i}]" for i in range(contexts)) if schema is None else schema.names
        self._schema = schema
        self._declared = frozenset(() if schema is None else (each.name for each in schema.attributes))

    def read(self, attributes: Mapping[str, object] | None, context: Sequence[float] | None) -> Encoded:
        """The context, and which numbers lay outside their bounds and were clipped: for the operator alone."""
        if self._schema is None:
            if attributes is not None or context is None:
                raise InvalidInput("context must be given, and no attributes: this product declares none")
            return Encoded(_numbers(context, len(self.names)), ())
        if context is not None or attributes is None:
            raise InvalidInput("attributes must be given, and no context: this product declares attributes")
        return self._encoded(self._schema, attributes)

    def _encoded(self, schema: Schema, attributes: Mapping[str, object]) -> Encoded:
        if not isinstance(attributes, Mapping):
            raise InvalidInput("attributes must be a mapping of names to values")
        if not attributes.keys() <= self._declared:  # which one is not said: it may be a value in the wrong place
            raise InvalidInput(f"attributes has an undeclared field; declared are {', '.join(sorted(self._declared))}")
        entries: list[float] = []
        clipped: list[str] = []
        for each in schema.attributes:
            if each.name not in attributes and not schema.may_lack(each):
                raise InvalidInput(f"attributes lacks the field {each.name!r}")
            value = attributes.get(each.name)
            try:
                entries += each.encode(value, schema.unknown or REFUSE)
            except InvalidInput:
                raise InvalidInput(f"attributes.{each.name} must be {_wanted(each)}") from None
            if outside(each, value):
                clipped.append(each.name)
        return Encoded(np.array(entries), tuple(clipped))


def _wanted(attribute: Attribute) -> str:
    if isinstance(attribute, Number):
        return "a finite number"
    if isinstance(attribute, Category):
        return f"one of {', '.join(attribute.levels)}"
    return "true or false"


def _numbers(context: Sequence[float], length: int) -> np.ndarray:
    if not isinstance(context, (list, tuple, np.ndarray)) or len(context) != length:
        raise InvalidInput(f"context must be a list of {length} numbers")
    for index, value in enumerate(context):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise InvalidInput(f"context[{index}] must be a number")
        if not (-1 <= value <= 1 and math.isfinite(value)):  # "not <=": NaN must fail
            raise InvalidInput(f"context[{index}] must lie in [-1, 1]")
    return np.array(context, dtype=np.float64)
