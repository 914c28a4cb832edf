"""The comparison after a crash finds whatever is lost, doubled or changed: here it is done to the database by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.crash import truth
from tests.service.crash.served import Served
from tests.service.crash.shoppers import Given, Notes
from tests.service.learning_runs import BOUGHT, PRICES, WINDOW, Shop

COUNT = 20
DAMAGE = {
    "a quote lost": "DELETE FROM quote WHERE slot = 20",
    "a quote lost, and its slot": "DELETE FROM quote WHERE slot = 20; UPDATE product SET slots = 19",
    "a quote nobody asked for": """INSERT INTO quote SELECT product, 21, randomblob(16), key, price, holdout, counts,
        deadline, day, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, propensity FROM quote WHERE slot = 20""",
    "a slot left out": "UPDATE quote SET slot = 21 WHERE slot = 20; UPDATE product SET slots = 21",
    "another price": "UPDATE quote SET price = price / 2 WHERE slot = 3",
    "an outcome lost": "UPDATE quote SET status = 0, demand = NULL WHERE slot = 3",
    "an outcome turned": "UPDATE quote SET demand = 1.0 - demand WHERE slot = 3",
    "an outcome made late": "UPDATE quote SET status = 2 WHERE slot = 3",
    "an outcome nobody told": "UPDATE quote SET status = 1, demand = 1.0 WHERE slot = 20",
    "an outcome counted twice": "UPDATE tally SET bought = bought + 1",
    "a release lost": "DELETE FROM release WHERE sequence = 2",
    "the last release lost": "DELETE FROM release WHERE sequence = (SELECT max(sequence) FROM release)",
    "a release drawn again": "UPDATE release SET numbers = zeroblob(8) WHERE sequence = 1",
    "a release not charged": """UPDATE learner SET ledger = CAST(replace(CAST(ledger AS TEXT), '"releases":',
        '"releases":1') AS BLOB)""",
    "a state that went back": "UPDATE learner SET learned = learned - 1, sequence = sequence - 1",
    "a customer forgotten by mistake": "UPDATE quote SET status = 3, demand = NULL WHERE slot = 3",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Notes]:
    """A database after a day in the shop, and what customers noted of it."""
    folder = tmp_path_factory.mktemp("finished")
    shop, notes = Shop(folder), Notes(products=["tea"])
    for n in range(COUNT):
        number = shop.quote(n)
        notes.given[number] = Given("tea", float(PRICES[n]) * 10.0, 0, None)
        if n < COUNT - 1:
            shop.tell(number, BOUGHT[n])
            notes.tried[number], notes.told[number] = BOUGHT[n], (BOUGHT[n], "recorded")
    shop.wait(WINDOW)
    shop.learning().turn()
    assert len(shop.releases()) >= 3
    shop.close()
    return shop.path.read_bytes(), notes


@pytest.fixture
def served(finished: tuple[bytes, Notes], tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "shop.db").write_bytes(finished[0])
    made = Served(tmp_path, str(tmp_path / "shop.db"))
    yield made
    made.close()


def found(served: Served, notes: Notes, before: truth.Observed) -> list[str]:
    return [*truth.wrong(served, notes), *truth.changed(before, truth.releases(served.uri))]


def test_a_sound_database_has_nothing_wrong(served: Served, finished: tuple[bytes, Notes]) -> None:
    assert found(served, finished[1], truth.releases(served.uri)) == []


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found(damage: str, served: Served, finished: tuple[bytes, Notes]) -> None:
    before = truth.releases(served.uri)
    connection = sqlite3.connect(served.uri)
    connection.executescript(DAMAGE[damage])
    connection.close()
    assert found(served, finished[1], before) != []
