"""Settings every test shares, and the browser of those that need one."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, so that a failure can be replayed; no deadline, because the first call compiles, and no
# check of how fast examples are drawn, because a machine that stands still for a second would fail it.
SLOW = [HealthCheck.too_slow]
settings.register_profile("hushprice", deadline=None, derandomize=True, print_blob=True, suppress_health_check=SLOW)
settings.load_profile("hushprice")


# Late in a run a process without work takes half of what another has left, and then both make what a module shares.
# Of this one that takes 20 seconds.
FIRST = "test_simulated.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that must not be taken apart come first."""
    items.sort(key=lambda item: item.path.name != FIRST)


@pytest.fixture(autouse=True, scope="session")
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a service notes on its machine goes to a folder of the tests, not to the home of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT interrupts this process and those it starts, also where a shell started the tests in the background.

    Such a shell has SIGINT ignored, and every process inherits that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Threads take turns every microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


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
