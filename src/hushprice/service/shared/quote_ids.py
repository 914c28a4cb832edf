"""Ids of quotes: 96 random bits, and 32 by which a process knows, without the store, that the key was given the quote.

So an outcome call can be told from one about a quote that never was before anything is looked up. To guess the 32 bits
gains a look in the store; the wrong guesses are counted.
"""

from __future__ import annotations

import functools
import hashlib
import hmac

from hushprice.service.store.decisions import quote_id

_RANDOM, _MARK = 12, 4  # bytes


def new_id(secret: bytes, key: str, drawn: bytes) -> str:
    """The id of a quote for the API key of this identity, from 12 random bytes.

    >>> is_given(b"secret", "shop", new_id(b"secret", "shop", bytes(12)))
    True
    """
    return (drawn[:_RANDOM] + _mark(secret, key, drawn[:_RANDOM])).hex()


def is_given(secret: bytes, key: str, quote: str) -> bool:
    """Was this id made for this API key?"""
    number = quote_id(quote)
    return number is not None and hmac.compare_digest(_mark(secret, key, number[:_RANDOM]), number[_RANDOM:])


def uniform_of(quote: bytes) -> float:
    """A number strictly inside (0, 1), and never 1/2, from a quote's id or the bytes it is made of.

    It is the coin of the quote's price, which the learner draws again: nobody chooses it, and no customer moves it.

    >>> uniform_of(bytes(12)) < 0.5 < uniform_of(b"\\xff" * 12)
    True
    """
    return ((int.from_bytes(quote[:8]) >> 12) + 0.5) * 2.0**-52


def _mark(secret: bytes, key: str, random: bytes) -> bytes:
    made = _begun(secret, key).copy()
    made.update(random)
    return made.digest()


@functools.lru_cache(maxsize=1024)
def _begun(secret: bytes, key: str) -> hashlib.blake2b:
    """Keyed BLAKE2, rather than HMAC, which hands the interpreter's lock over at every quote."""
    fitting = hashlib.sha256(secret).digest()  # a key of BLAKE2's size, whatever the secret's is
    return hashlib.blake2b(b"quote " + key.encode() + b" ", digest_size=_MARK, key=fitting)
