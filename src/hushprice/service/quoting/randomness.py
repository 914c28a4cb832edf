"""Random bytes of the operating system, drawn in blocks: a call for each quote would hand the interpreter lock over.

Every byte is used once. A process that was forked would share what is left of a block; none is forked here.
"""

from __future__ import annotations

import os

SIZE = 32  # bytes of one draw: an id, a coin, a uniform
_DRAWS = 256


def _block() -> list[bytes]:
    block = os.urandom(SIZE * _DRAWS)
    return [block[start : start + SIZE] for start in range(0, len(block), SIZE)]


_unused: list[bytes] = []


def random_bytes() -> bytes:
    """Fresh random bytes, SIZE of them. For the event loop's thread."""
    if not _unused:
        _unused.extend(_block())
    return _unused.pop()
