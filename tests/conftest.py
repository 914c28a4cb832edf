"""Settings every test shares."""

from __future__ import annotations

from hypothesis import settings

# The same examples every time, so that a failure can be replayed; no deadline, because the first call compiles.
settings.register_profile("hushprice", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("hushprice")
