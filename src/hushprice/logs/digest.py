"""A customer's key as 64 bits that only whoever holds the log's secret can compute: SipHash-1-3, compiled.

Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, section 2, with one round a word and three at the end,
as Rust's and Python's own dictionaries take it. Two customers share a digest with probability 2^-64 a pair, and are
then bounded as if they were one.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.numerics.jit import inlined, step
from hushprice.types import AnyArray, IntArray

if TYPE_CHECKING:
    import polars

KEY_BYTES = 16
ROUNDS = (1, 3)  # a word, and at the end
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)  # "somepseudorandom..."
_AT_A_TIME = 1 << 16  # keys
_FF, _TOP, _WORD = np.uint64(0xFF), np.uint64(56), np.uint64(64)
_13, _16, _17, _21, _32 = (np.uint64(bits) for bits in (13, 16, 17, 21, 32))


def new_key() -> bytes:
    """A secret for one log, from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


def check_key(key: object) -> bytes:
    """The key, refused where it is no secret of the right length; it is not shown."""
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise InvalidInput(f"key must be {KEY_BYTES} bytes, got {checks.shown(type(key).__name__)}")
    return key


def digests(keys: polars.Series, secret: bytes) -> IntArray:
    """The digest of every key: whole numbers as 8 bytes, anything else as its text. None of them may be missing."""
    found = np.empty(len(keys), dtype=np.int64)
    for start in range(0, len(keys), _AT_A_TIME):
        part = keys.slice(start, _AT_A_TIME)
        data, ends = _bytes_of(part)
        found[start : start + len(part)] = sip(data, ends, secret)
    return found


def sip(data: AnyArray, ends: IntArray, secret: bytes, rounds: tuple[int, int] = ROUNDS) -> IntArray:
    """SipHash of many messages, which lie in `data` one after the other, up to their ends."""
    low, high = (int.from_bytes(check_key(secret)[at : at + 8], "little") for at in (0, 8))
    keyed = zip(_START, (low, high, low, high), strict=True)
    state = np.array([start ^ key for start, key in keyed], dtype=np.uint64)
    found = np.empty(ends.size, dtype=np.uint64)
    with np.errstate(over="ignore"):  # unsigned integers wrap around, as the definition wants
        _hash(data, ends, state, rounds[0], rounds[1], found)
    return found.view(np.int64)


def _bytes_of(keys: polars.Series) -> tuple[AnyArray, IntArray]:
    import polars

    if keys.dtype.is_integer():  # the lowest byte first
        words = keys.cast(polars.Int64, wrap_numerical=True).to_numpy().astype("<i8", copy=False)
        return np.ascontiguousarray(words).view(np.uint8), 8 * np.arange(1, len(keys) + 1)
    ends = np.cumsum(keys.str.len_bytes().to_numpy(), dtype=np.int64)
    return np.frombuffer((keys.str.join("").item() or "").encode(), dtype=np.uint8), ends


@inlined
def _turned(word: np.uint64, bits: np.uint64) -> np.uint64:
    return (word << bits) | (word >> (_WORD - bits))


@inlined
def _round(a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a = a + b
    b = _turned(b, _13) ^ a
    c = c + d
    d = _turned(d, _16) ^ c
    a = _turned(a, _32) + d
    d = _turned(d, _21) ^ a
    c = c + b
    b = _turned(b, _17) ^ c
    return a, b, _turned(c, _32), d


@step
def _hash(data: AnyArray, ends: IntArray, state: AnyArray, each: int, last: int, found: AnyArray) -> None:
    first = 0
    for i in range(found.size):
        a, b, c, d = state[0], state[1], state[2], state[3]
        count = ends[i] - first
        for start in range(0, count + 1, 8):  # the last word holds the length, and what bytes are left
            inside = min(8, count - start)
            word = np.uint64(0)
            if inside == 8:  # a loop that is known to be of eight is one load
                for at in range(8):
                    word |= np.uint64(data[first + start + at]) << np.uint64(8 * at)
            else:
                for at in range(inside):
                    word |= np.uint64(data[first + start + at]) << np.uint64(8 * at)
                word |= np.uint64(count & 0xFF) << _TOP
            d ^= word
            for _ in range(each):
                a, b, c, d = _round(a, b, c, d)
            a ^= word
        c ^= _FF
        for _ in range(last):
            a, b, c, d = _round(a, b, c, d)
        found[i] = a ^ b ^ c ^ d
        first = ends[i]
