"""Ids of quotes: 80 random bits, 16 of the clock, and 32 that tell a process, without the store, whose quote it is.

By the mark an outcome call can be told from one about a quote that never was before anything is looked up. To guess its
32 bits gains a look in the store; the wrong guesses are counted. By the clock's bits ids that are given together lie
together in the store's index (sqlite_5.sql): a page of it is then written for many quotes, and not one for each.
"""

from __future__ import annotations

import functools
import hashlib
import hmac

from hushprice.service.store.decisions import quote_id

_RANDOM, _MADE, _MARK = 10, 12, 4  # bytes: the clock's are between
_TICKS = 64  # a second; all 2^16 take 17 minutes


def new_id(secret: bytes, key: str, drawn: bytes, now: float) -> str:
    """The id of a quote that is given now to the API key of this identity, from 10 random bytes.

    >>> is_given(b"secret", "shop", new_id(b"secret", "shop", bytes(10), 0.0))
    True
    """
    made = drawn[:_RANDOM] + clock_bytes(now)
    return (made + _mark(secret, key, made)).hex()


def clock_bytes(now: float) -> bytes:
    """What an id says of the time at which it is given.

    >>> clock_bytes(1.0), clock_bytes(2.0**20 + 0.01)
    (b'\\x00@', b'\\x00\\x00')
    """
    return (int(now * _TICKS) & 0xFFFF).to_bytes(2)


def is_given(secret: bytes, key: str, quote: str) -> bool:
    """Was this id made for this API key?"""
    number = quote_id(quote)
    return number is not None and hmac.compare_digest(_mark(secret, key, number[:_MADE]), number[_MADE:])


def uniform_of(quote: bytes) -> float:
    """A number strictly inside (0, 1), and never 1/2, from a quote's id or the bytes it is made of.

    It is the coin of the quote's price, which the learner draws again: nobody chooses it, and no customer moves it.

    >>> uniform_of(bytes(12)) < 0.5 < uniform_of(b"\\xff" * 12)
    True
    """
    return ((int.from_bytes(quote[:8]) >> 12) + 0.5) * 2.0**-52


def _mark(secret: bytes, key: str, made: bytes) -> bytes:
    mark = _begun(secret, key).copy()
    mark.update(made)
    return mark.digest()


@functools.lru_cache(maxsize=1024)
def _begun(secret: bytes, key: str) -> hashlib.blake2b:
    """Keyed BLAKE2, rather than HMAC, which hands the interpreter's lock over at every quote."""
    fitting = hashlib.sha256(secret).digest()  # a key of BLAKE2's size, whatever the secret's is
    return hashlib.blake2b(b"quote " + key.encode() + b" ", digest_size=_MARK, key=fitting)
