"""Times as the service writes them."""

from __future__ import annotations

import time
from functools import lru_cache


@lru_cache(maxsize=4096)  # quotes of one second expire in one second
def rfc3339(at: float) -> str:
    """Seconds since 1970 as UTC text, to the second.

    >>> rfc3339(0.0)
    '1970-01-01T00:00:00Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
