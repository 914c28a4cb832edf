"""A learner's and a quoter's store on the same data; on PostgreSQL the quoter has the quoters' role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.service.conftest import as_quoter
from tests.service.store.samples import PRODUCT

from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore, QuoterStore


@pytest.fixture
def learner(store_uri: str) -> Iterator[LearnerStore]:
    store = open_store(store_uri, "learner")
    store.add_product(PRODUCT, b"{}", b"{}", 1000.0)
    yield store
    store.close()


@pytest.fixture
def quoter(store_uri: str, learner: LearnerStore) -> Iterator[QuoterStore]:
    store = open_store(as_quoter(store_uri), "quoter")
    yield store
    store.close()


@pytest.fixture
def owner(postgres_uri: str, learner: LearnerStore) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        yield connection


@pytest.fixture
def as_role(postgres_uri: str, learner: LearnerStore) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(as_quoter(postgres_uri), autocommit=True) as connection:
        yield connection
