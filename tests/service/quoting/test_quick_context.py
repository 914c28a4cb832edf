"""The quick way to a context gives the slow one's digits, or leaves the request to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.service.http.running import SCHEMA

from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.service.quoting.quick_context import QuickContextReader
from hushprice.service.shared.contexts import ContextReader

DECLARED = Schema.from_dict(SCHEMA)
VALUES: Any = st.one_of(
    st.floats(allow_nan=True),
    st.floats(18, 98),
    st.booleans(),
    st.sampled_from(["south", "north", "", "x"]),
    st.integers(),
    st.none(),
)
PEOPLE = st.dictionaries(st.sampled_from(["age", "member", "region", "other"]), VALUES)
USUAL = st.fixed_dictionaries(
    {"age": st.floats(18, 98), "member": st.booleans(), "region": st.sampled_from(["south", "north"])}
)


def slow(reader: ContextReader, attributes: Any, context: Any) -> bytes | None:
    try:
        return reader.read(attributes, context).context.tobytes()
    except InvalidInput:
        return None


@given(st.one_of(PEOPLE, USUAL), st.one_of(st.none(), st.lists(st.floats(), max_size=3)))
def test_what_is_read_quickly_is_what_is_read_slowly(attributes: Any, context: Any) -> None:
    found = QuickContextReader(DECLARED, 3).read(attributes, context)
    assert found is None or found == slow(ContextReader(DECLARED, 3), attributes, context)


@given(USUAL)
def test_the_usual_customer_is_read_quickly(attributes: Any) -> None:
    assert QuickContextReader(DECLARED, 3).read(attributes, None) is not None


@given(st.lists(st.one_of(st.floats(), st.floats(-1, 1), st.integers(-1, 1)), max_size=3))
def test_numeric_contexts_too(context: Any) -> None:
    found = QuickContextReader(None, 2).read(None, context)
    assert found is None or found == slow(ContextReader(None, 2), None, context)
    assert QuickContextReader(None, 2).read(None, [0.5, -1.0]) == np.array([0.5, -1.0]).tobytes()
