"""So many requests a second. A flood would eat the horizon: every quote takes a slot.

What a quote takes its token from nothing else does: an outcome is part of a customer's record, and were it to take a
token that a later quote needs, a purchase alone would decide who gets a slot (docs/proofs/operation.md, section 5).
"""

from __future__ import annotations

import msgspec

from hushprice.service.shared import quote_ids
from hushprice.service.store.values import ApiKey

LARGEST_BATCH = 100  # quotes in one request; a full bucket must hold one
PREPAID = 10  # outcome calls of one quote at once, and then one a second
_VISITORS = 0.1  # of a key's rate: what an address without a key may read


class RateLimits:
    """A bucket of tokens a name: it holds one second's worth, and fills as time goes by."""

    def __init__(self, rate: float, full: float | None = None) -> None:
        self._rate = rate
        self._full = max(rate, float(LARGEST_BATCH)) if full is None else full
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens left, and when that was
        self._older: dict[str, tuple[float, float]] = {}
        self._turned = 0.0

    def take(self, name: str, now: float, count: int = 1) -> float:
        """Take `count` tokens; returns 0, or the seconds to wait where there are too few and none was taken.

        >>> limits = RateLimits(200.0)
        >>> limits.take("shop", 0.0, 200), limits.take("shop", 0.0), limits.take("shop", 0.005)
        (0.0, 0.005, 0.0)
        """
        if now - self._turned > self._full / self._rate:  # what was not touched for that long is full, and is dropped
            self._older, self._buckets, self._turned = self._buckets, {}, now
        tokens, then = self._buckets.get(name) or self._older.get(name) or (self._full, now)
        tokens = min(self._full, tokens + (now - then) * self._rate)
        if tokens < count:
            self._buckets[name] = (tokens, now)
            return (count - tokens) / self._rate
        self._buckets[name] = (tokens - count, now)
        return 0.0

    def give_back(self, name: str, now: float) -> None:
        """Give one token back: what it was for could not be done."""
        self.take(name, now, -1)


class Bucket(msgspec.Struct, frozen=True):
    """What a request takes its tokens from."""

    limits: RateLimits
    name: str
    prepaid: bool = False


class Allowances:
    """Who may ask how often: quotes, outcomes, other calls of a key, and readers without a key; none shares another's.

    A quote prepays the calls that tell its outcome, so no outcome is refused because of another one. Calls about quotes
    that this key was never given have a bucket of their own.
    """

    def __init__(self, rate: float, secret: bytes) -> None:
        self._secret = secret
        self._quotes, self._others, self._unknown = RateLimits(rate), RateLimits(rate), RateLimits(rate)
        self._prepaid = RateLimits(1.0, float(PREPAID))
        self._visitors = RateLimits(rate * _VISITORS)

    def of_quotes(self, key: ApiKey) -> Bucket:
        """The bucket that a key's quotes take tokens from."""
        return Bucket(self._quotes, key.name)

    def of_outcome(self, key: ApiKey, quote: str) -> Bucket:
        """The bucket that a call about one quote takes from."""
        if quote_ids.is_given(self._secret, key.identity, quote):
            return Bucket(self._prepaid, quote, prepaid=True)
        return Bucket(self._unknown, key.name)

    def of_others(self, key: ApiKey) -> Bucket:
        """The bucket that a key's other calls take from."""
        return Bucket(self._others, key.name)

    def of_visitor(self, address: str) -> Bucket:
        """The bucket that readers without a key take from, by address."""
        return Bucket(self._visitors, address)
