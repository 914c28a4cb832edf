"""A record's numbers in two shares, one for each of two aggregators: either alone is noise, both together the numbers.

Numbers are whole multiples of the grids of the noise that aggregators add, and are added modulo 2^64. A share says
nothing about its numbers, so neither says whether these are as small as they should be: a device that lies can move a
sum as far as it likes, and aggregators cannot see it (docs/proofs/trust.md, section 6).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from hushprice.errors import InvalidInput
from hushprice.trust.question import Contribution, Question, Record, contribution

WORD = 64
_MASK = (1 << WORD) - 1
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
_DIGITS = set("0123456789abcdef")
MOST_BITS = 40  # of a grid: sums of 2^20 numbers of size 1 stay below 2^60


@dataclass(frozen=True, kw_only=True, slots=True)
class Grids:
    """Numbers are multiples of 2^-bits: for residuals, residuals times attributes, descriptions, earnings of
    the holdout and of the others."""

    common: int
    personal: int
    description: int
    holdout: int
    earnings: int

    def __post_init__(self) -> None:
        for bits in (self.common, self.personal, self.description, self.holdout, self.earnings):
            if not bits <= MOST_BITS:
                raise InvalidInput(f"a grid must be of at most {MOST_BITS} binary places, got {bits!r}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Promise:
    """What one aggregator's noise promises of a product: the same numbers at both, at the shop and on devices."""

    epsilon: float
    delta: float
    contexts: int
    least: float  # a chance to buy is held between these: residuals are no larger
    most: float


def numbers(question: Question, grids: Grids, record: Record) -> list[int]:
    """What a record adds, scores, descriptions and earnings in a row, each rounded to its grid."""
    given: Contribution = contribution(question, record)
    half = question.contexts + 1
    whole = [_on(value, grids.personal if i % half else grids.common) for i, value in enumerate(given.scores)]
    whole += [_on(value, grids.description) for value in given.descriptions]
    return [*whole, _on(given.earnings[0], grids.holdout), _on(given.earnings[1], grids.earnings)]


def split(whole: Sequence[int], draw: Callable[[int], int] = secrets.randbits) -> tuple[list[int], list[int]]:
    """Two shares that add up to the numbers, modulo 2^64; each alone is uniform.

    >>> first, second = split([3, -1])
    >>> joined(first, second)
    [3, -1]
    """
    first = [draw(WORD) for _ in whole]
    return first, [(value - share) & _MASK for value, share in zip(whole, first, strict=True)]


def added(total: Sequence[int], share: Sequence[int]) -> list[int]:
    """An aggregator's total with one more share, or with its noise."""
    return [(left + right) & _MASK for left, right in zip(total, share, strict=True)]


def joined(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """What the totals of both aggregators add up to, between -2^63 and 2^63."""
    whole = added(first, second)
    return [value - (1 << WORD) if value >> (WORD - 1) else value for value in whole]


def is_safe(url: str) -> bool:
    """May a share be sent there? Who reads both on the way has the record, so they are encrypted on every network.

    >>> is_safe("https://one.example"), is_safe("http://127.0.0.1:8790"), is_safe("http://one.example")
    (True, True, False)
    >>> is_safe("https://one.example:http"), is_safe("https://me:secret@one.example"), is_safe("https://")
    (False, False, False)
    """
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
    except ValueError:  # of brackets, or of a port that is no number
        return False
    if not named:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _THIS_MACHINE)


def written(words: Sequence[int]) -> str:
    """Words of 64 bits as text.

    >>> written([1, 255]), read(written([1, 255]))
    ('000000000000000100000000000000ff', [1, 255])
    """
    return "".join(f"{word:016x}" for word in words)


def read(text: str) -> list[int]:
    """Words from such text."""
    if len(text) % 16 or not set(text) <= _DIGITS:
        raise InvalidInput("words must be of 16 hexadecimal digits each")
    return [int(text[start : start + 16], 16) for start in range(0, len(text), 16)]


def _on(value: float, bits: int) -> int:
    return round(math.ldexp(value, bits))
