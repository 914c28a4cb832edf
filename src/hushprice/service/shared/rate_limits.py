"""So many requests a second for each API key. A flood would eat the horizon: every quote takes a slot."""

from __future__ import annotations

LARGEST_BATCH = 100  # quotes in one request; a full bucket must hold one


class RateLimits:
    """A bucket of tokens a key: it holds one second's worth, and fills as time goes by."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._full = max(rate, float(LARGEST_BATCH))
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens left, and when that was

    def take(self, key: str, now: float, count: int = 1) -> float:
        """Take `count` tokens; returns 0, or the seconds to wait where there are too few and none was taken.

        >>> limits = RateLimits(200.0)
        >>> limits.take("shop", 0.0, 200), limits.take("shop", 0.0), limits.take("shop", 0.005)
        (0.0, 0.005, 0.0)
        """
        tokens, then = self._buckets.get(key, (self._full, now))
        tokens = min(self._full, tokens + (now - then) * self._rate)
        if tokens < count:
            self._buckets[key] = (tokens, now)
            return (count - tokens) / self._rate
        self._buckets[key] = (tokens - count, now)
        return 0.0
