"""A shop to learn from, and batches of several blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.learning_runs import Shop, many_blocks


@pytest.fixture(scope="module")
def blocks() -> Iterator[None]:
    with many_blocks():
        yield


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path)
    yield opened
    opened.close()
