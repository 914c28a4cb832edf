"""Random bytes of the operating system, drawn in blocks: a call for each quote would hand the interpreter lock over.

Every byte is used once. A process that was forked would share what is left of a block; none is forked here.
"""

from __future__ import annotations

import os

SIZE = 32  # bytes of one piece: an id, a coin, a uniform
_PIECES = 256


def _pieces() -> list[bytes]:
    block = os.urandom(SIZE * _PIECES)
    return [block[start : start + SIZE] for start in range(0, len(block), SIZE)]


_left: list[bytes] = []


def random_bytes() -> bytes:
    """Fresh random bytes, SIZE of them. For the event loop's thread."""
    if not _left:
        _left.extend(_pieces())
    return _left.pop()
