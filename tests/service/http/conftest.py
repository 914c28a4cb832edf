"""Servers for tests: one that many share, and one on either kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.conftest import as_quoter
from tests.service.http.running import Running, running


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with one product, for tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("shared")
    with running(str(folder / "shop.db"), folder) as made:
        made.create()
        yield made


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Running]:
    """A server of the test's own, with one product."""
    with running(str(tmp_path / "shop.db"), tmp_path) as made:
        made.create()
        yield made


@pytest.fixture
def either(store_uri: str, tmp_path: Path) -> Iterator[Running]:
    """A server on SQLite and one on PostgreSQL, where it has the quoters' role."""
    with running(store_uri, tmp_path, as_quoter(store_uri)) as made:
        made.create()
        yield made
