"""A customer's key as 64 bits that only whoever holds the log's secret can compute: SipHash-1-3, many keys at a time.

Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, section 2, with one round a word and three at the end,
as Rust's and Python's own dictionaries take it. Two customers share a digest with probability 2^-64 a pair, and are
then bounded as if they were one.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.types import IntArray

if TYPE_CHECKING:
    import polars

KEY_BYTES = 16
ROUNDS = (1, 3)  # a word, and at the end
Words = NDArray[np.uint64]
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)  # "somepseudorandom..."
_AT_A_TIME = 8192  # keys: their state stays in a processor's cache


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
        found[start : start + len(part)] = (
            sip_numbers(part, secret) if keys.dtype.is_integer() else sip_texts(part, secret)
        )
    return found


def sip_numbers(numbers: polars.Series, secret: bytes) -> IntArray:
    """The digest of every whole number's 8 bytes, the lowest first."""
    import polars

    words = numbers.cast(polars.Int64, wrap_numerical=True).to_numpy().view(np.uint64)
    return sip_words([words], np.full(words.size, 8, dtype=np.int64), secret)


def sip_texts(texts: polars.Series, secret: bytes) -> IntArray:
    """The digest of every text's bytes; long texts cost those rows alone."""
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    data = np.frombuffer((texts.str.join("").item() or "").encode(), dtype=np.uint8)
    starts = np.cumsum(lengths) - lengths
    words = []
    for at in range(int(lengths.max(initial=0)) // 8 + 1):
        word = np.zeros(lengths.size, dtype=np.uint64)
        for byte in range(8):
            inside = np.flatnonzero(lengths > 8 * at + byte)
            word[inside] |= data[starts[inside] + (8 * at + byte)].astype(np.uint64) << np.uint64(8 * byte)
        words.append(word)
    return sip_words(words, lengths, secret)


def sip_words(words: list[Words], lengths: IntArray, secret: bytes, rounds: tuple[int, int] = ROUNDS) -> IntArray:
    """SipHash of many messages: words[j][i] holds bytes 8j to 8j + 7 of message i, zeros past its end."""
    low, high = (int.from_bytes(check_key(secret)[at : at + 8], "little") for at in (0, 8))
    keyed = zip(_START, (low, high, low, high), strict=True)
    state = np.array([[start ^ key] for start, key in keyed], dtype=np.uint64).repeat(lengths.size, axis=1)
    whole = lengths // 8
    for at in range(int(whole.max(initial=0)) + 1):
        going = np.flatnonzero(whole >= at)  # those whose last word, which holds the length, is this or a later one
        word = words[at][going] if at < len(words) else np.zeros(going.size, dtype=np.uint64)
        ending = (lengths[going] & 0xFF).astype(np.uint64) << np.uint64(56)
        word |= np.where(whole[going] == at, ending, np.uint64(0))
        part = state if going.size == lengths.size else state[:, going]
        part[3] ^= word
        for _ in range(rounds[0]):
            _round(part)
        part[0] ^= word
        if part is not state:
            state[:, going] = part
    state[2] ^= np.uint64(0xFF)
    for _ in range(rounds[1]):
        _round(state)
    return np.bitwise_xor.reduce(state, axis=0).view(np.int64)


def _round(state: Words) -> None:
    """In place. Arrays of unsigned integers wrap around, as the definition wants."""
    a, b, c, d = state
    a += b
    _turn(b, 13)
    b ^= a
    _turn(a, 32)
    c += d
    _turn(d, 16)
    d ^= c
    a += d
    _turn(d, 21)
    d ^= a
    c += b
    _turn(b, 17)
    b ^= c
    _turn(c, 32)


def _turn(word: Words, bits: int) -> None:
    high = word << np.uint64(bits)
    word >>= np.uint64(64 - bits)
    word |= high
