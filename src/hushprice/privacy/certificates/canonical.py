"""JSON with one spelling for each value, strictly read, so that a hash of the text is a hash of the meaning.

Keys are sorted, floats have the shortest digits that read back as the same float, text is UTF-8, and there is no NaN.
White space carries no meaning: files are indented for people, hashes are taken without it.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from hushprice import checks
from hushprice.errors import InvalidInput, first_line

MOST_BYTES = 1 << 23  # no certificate comes near it, not even one that lists changes by hand every hour for years
CLOSE = 1e-9  # two machines' mathematics libraries may differ in the last digits


def encode(value: Any) -> bytes:
    """The bytes that are hashed.

    >>> encode({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def render(value: Any) -> str:
    """The text of a value, indented for a file."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def decode(text: bytes) -> Any:
    """The one value in `text`. Refused is what two readers could read differently."""
    if len(text) > MOST_BYTES:
        raise InvalidInput(f"it is {len(text)} bytes long, above {MOST_BYTES}")
    try:
        value = json.loads(
            text.decode(), object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite_float
        )
        encode(value)  # half a surrogate pair can be read but not written
    except InvalidInput:
        raise
    except UnicodeError:
        raise InvalidInput("it is not UTF-8 text") from None
    except RecursionError:
        raise InvalidInput("it is nested too deeply") from None
    except ValueError as problem:
        raise InvalidInput(f"it is not JSON: {first_line(problem)}") from None
    return value


def chained(previous: str, content: Any) -> str:
    """SHA-256 of the hash before and the content, in hexadecimal."""
    return hashlib.sha256(previous.encode() + encode(content)).hexdigest()


def difference(stated: Any, expected: Any, path: str) -> str | None:
    """Where `stated` first departs from `expected`, in words; None where they agree up to the last digits."""
    if isinstance(expected, dict) and isinstance(stated, dict):
        for name in sorted({*stated, *expected}):
            if name not in expected:
                return f"{path}.{checks.shown(name)[1:-1]} is unknown"
            if name not in stated:
                return f"{path}.{name} is missing"
            found = difference(stated[name], expected[name], f"{path}.{name}")
            if found is not None:
                return found
        return None
    if isinstance(expected, list) and isinstance(stated, list) and len(stated) == len(expected):
        each = (
            difference(one, other, f"{path}[{i}]") for i, (one, other) in enumerate(zip(stated, expected, strict=True))
        )
        return next((found for found in each if found is not None), None)
    if type(stated) is type(expected):  # so 1, 1.0 and true are three things
        exact = path.endswith("grid")  # a power of two, on every machine
        near = isinstance(stated, float) and not exact and math.isclose(stated, expected, rel_tol=CLOSE)
        if stated == expected or near:
            return None
    return f"{path} is {checks.shown(stated)}, but the rest of the file gives {checks.shown(expected)}"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise InvalidInput(f"the field {checks.shown(name)} occurs twice")
        content[name] = value
    return content


def _no_constant(name: str) -> None:
    raise InvalidInput(f"{name} is not a number")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidInput(f"{checks.shown(text)} is beyond every float")
    return value
