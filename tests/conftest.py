"""Settings every test shares, and the browser of those that need one."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import settings

# The same examples every time, so that a failure can be replayed; no deadline, because the first call compiles.
settings.register_profile("hushprice", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("hushprice")

BROWSERS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium. Without one a test is skipped, but not where CI is set: nothing would check the page."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing = f"no browser on PATH: {', '.join(BROWSERS)}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found
