"""The check of a store finds every kind of damage it names."""

from __future__ import annotations

import pytest
from tests.service.store.samples import HOLDER, PRODUCT, given, learn, pass_time, release, state

from hushprice.service.store.consistency import problems
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import SeenRelease


@pytest.fixture
def store_uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("store") / "hushprice.db")


@pytest.fixture
def sound(learner: LearnerStore) -> SqliteStore:
    given(learner, 6)
    pass_time(learner, 20.0)
    learn(learner, 2, release(1, 1, kind="curvature"), release(2, 2, kind="curvature"), release(3, 2))
    learn(learner, 4, release(4, 4, batch=2))
    assert problems(learner) == []
    assert isinstance(learner, SqliteStore)
    return learner


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE learner SET learned = 7", "7 slots are learned, 6 given"),
        ("DELETE FROM quote WHERE slot = 3", "5 quotes have one"),
        ("INSERT INTO record VALUES (1, 2, x'00')", "1 learned slots still have their contexts"),
        ("DELETE FROM record WHERE slot = 6", "1 slots have lost their contexts"),
        ("UPDATE quote SET deadline = 1e9 WHERE slot = 4", "1 slots were learned before"),
        ("UPDATE tally SET quoted = 5", "6 quotes are stored, 5 counted"),
        ("UPDATE learner SET sequence = 5", "made 5 releases, the store has 4"),
        ("DELETE FROM release WHERE sequence = 4", "made 4 releases, the store has 3"),
        ("DELETE FROM release WHERE sequence = 2", "not numbered one by one"),
        ("""UPDATE learner SET ledger = CAST('{"releases": 3}' AS BLOB)""", "the ledger has 3 releases, the learner 4"),
        ("UPDATE learner SET learned = 3", "slots that are not learned"),
        ("UPDATE release SET kind = 'curvature' WHERE sequence = 3", "release 4 is of the batch after slot 2, not 0"),
        ("UPDATE release SET batch = 0 WHERE sequence = 4", "release 4 is of the batch after slot 0, not 2"),
        ("UPDATE release SET kind = 'score' WHERE sequence = 2", "release 3 is of the batch after slot 0, not 2"),
        ("UPDATE release SET records = 2 WHERE sequence = 4", "release 4 is of 2 slots"),
        ("DELETE FROM learner", "made 0 releases, the store has 4"),
    ],
)
def test_damage_is_named(sound: SqliteStore, damage: str, said: str) -> None:
    sound._connection.execute(damage)
    found = problems(sound)
    assert any(said in line for line in found), found
    assert all(line.startswith(f"{PRODUCT}: ") for line in found)


def test_a_restored_backup_is_sound_at_every_step(sound: SqliteStore) -> None:
    sound.skip_to(HOLDER, SeenRelease(PRODUCT, 7, 10), 1000.0)
    assert problems(sound) == []
    sound.commit(HOLDER, state(10, 7), [], 1000.0)
    assert problems(sound) == []
    given(sound, 2)
    pass_time(sound, 20.0, start=2e6)
    learn(sound, 12, release(8, 12, batch=10))
    assert problems(sound) == []
