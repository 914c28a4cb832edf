"""Files of saved pricers, changed as somebody might change them, and what is said of them."""

from __future__ import annotations

import functools
import hashlib
import operator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.live import saved
from hushprice.live.pricer import Pricer


def refusal(content: bytes, path: Path) -> str:
    """Why a file with this content is refused; nothing where it is not."""
    path.write_bytes(content)
    try:
        Pricer.load(path, simulation=True)
    except InvalidInput as problem:
        return str(problem)
    return ""


def rewritten(content: bytes, change: dict[str, Any]) -> bytes:
    """The file with some fields replaced (`outer.inner` for a field of a field) and its checksum made to fit."""
    given = msgspec.msgpack.decode(content.partition(b"\n")[2])
    for name, value in change.items():
        *path, last = (int(part) if part.isdigit() else part for part in name.split("."))
        functools.reduce(operator.getitem, path, given)[last] = value
    body = msgspec.msgpack.encode(given)
    return f"hushprice pricer {saved.FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def numbers(*shape: int, value: float = 0.1) -> Any:
    """An array as a file has it."""
    return [list(shape), np.full(shape, value).tobytes()]
