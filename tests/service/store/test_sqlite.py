"""What only a SQLite file has to promise: durability, who may read it, and one line where it fails."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from tests.service.store.samples import CONTEXT, PRODUCT, give, given, learn, pass_time, quote, release, tell
from tests.waiting import PATIENCE, eventually

from hushprice.errors import InvalidInput
from hushprice.service.shared import quote_ids
from hushprice.service.store import open_store, sqlite, sqlite_file, sqlite_quotes, sqlite_write_lock
from hushprice.service.store.consistency import problems
from hushprice.service.store.protocol import LearnerStore, StoreUnavailable, ValueRefused
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import LearnerReport, LearningProgress

ONE_LINE = r"\A[^\n]*\Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hushprice.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    store.add_product(PRODUCT, b"{}", b"{}", 1000.0)
    yield store
    store.close()


def setting(store: SqliteStore, name: str) -> object:
    return store._connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_commits_are_durable_and_what_is_erased_is_overwritten(store: SqliteStore) -> None:
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
    assert {name: setting(store, name) for name in wanted} == wanted


def test_the_file_and_its_companions_are_for_the_owner_alone(store: SqliteStore, path: Path) -> None:
    given(store)
    files = [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600] * 3


def test_a_learned_context_is_not_in_the_file_any_more(store: SqliteStore, path: Path) -> None:
    context = b"a context to be erased once learned"
    give(store, quote(context=context))
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert context in path.read_bytes()
    pass_time(store, 20.0)
    learn(store, 1, release(1, 1))
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert context not in path.read_bytes()


def test_a_file_locked_by_another_process_is_unavailable_and_then_back(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_write_lock, "WAIT", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked by another process"):
        given(store)
    assert store.products()[0].slots == 0  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    assert len(given(store)) == 1


def test_who_wants_to_write_waits_for_who_waits_already_but_not_for_ever(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    first, second = sqlite_write_lock.WriteLock(path), sqlite_write_lock.WriteLock(path)
    connection = sqlite3.connect(path, isolation_level=None)

    def let_go(seconds: float) -> None:
        waited.append(seconds)
        fcntl.flock(first._file, fcntl.LOCK_UN)

    with monkeypatch.context() as patched:
        patched.setattr("time.sleep", let_go)
        fcntl.flock(first._file, fcntl.LOCK_EX)
        second.begin(connection)
    assert connection.in_transaction
    assert len(waited) == 1
    connection.rollback()
    fcntl.flock(first._file, fcntl.LOCK_EX)
    monkeypatch.setattr(sqlite_write_lock, "WAIT", -1.0)
    second.begin(connection)  # the lock is a courtesy; SQLite's own is what holds
    assert connection.in_transaction
    connection.close()
    first.close()
    second.close()


def test_a_full_disk_stores_nothing_and_loses_nothing(store: SqliteStore) -> None:
    (name,) = given(store)
    tell(store, name)
    store._connection.execute(f"PRAGMA max_page_count = {setting(store, 'page_count')}")
    with pytest.raises(StoreUnavailable, match="disk is full"):
        given(store, 200, context=CONTEXT * 100)
    assert tell(store, name).repeat
    store._connection.execute("PRAGMA max_page_count = 1000000")
    given(store)
    assert store.products()[0].slots == 2
    assert problems(store) == []


def test_a_read_only_file_is_said_to_be_one(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not hold an administrator, so the file is opened as one that may only be read."""
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: real(f"file:{path}?mode=ro", uri=True, **more))
    with pytest.raises(StoreUnavailable, match="read-only"):
        SqliteStore(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may write every file")
def test_a_file_without_permission_is_said_to_be_read_only(store: SqliteStore, path: Path) -> None:
    path.chmod(0o400)
    with pytest.raises(StoreUnavailable, match=ONE_LINE):
        SqliteStore(path)


def test_nothing_is_acknowledged_into_a_file_that_was_removed_or_replaced(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A careless hand while the service runs: it would write on into a file that has no name any more."""
    monkeypatch.setattr(sqlite, "_UNLOOKED", 0.0)
    writes = (lambda: give(store, quote()), lambda: store.beat(1.0), lambda: store.take_lease("learner", 1.0))
    moved = path.with_name("moved.db")
    path.rename(moved)
    for there in (False, True):
        if there:
            path.write_bytes(moved.read_bytes())
        for write in writes:
            with pytest.raises(StoreUnavailable, match="removed or replaced"):
                write()
    moved.replace(path)
    (quoted,) = given(store)
    assert tell(store, quoted).status == "recorded"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="No such file or directory"):
        open_store(str(tmp_path / "none" / "hushprice.db"), "learner")
    with pytest.raises(StoreUnavailable, match="No such file or directory"):
        sqlite_file.connect(tmp_path / "none" / "hushprice.db")
    with pytest.raises(StoreUnavailable, match=ONE_LINE):
        open_store(str(tmp_path), "learner")


def test_files_of_others_are_refused_and_left_as_they_were(path: Path) -> None:
    path.write_text("Dear diary, " * 1000)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="not a SQLite database"):
        SqliteStore(path)
    assert path.read_bytes() == before
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE quote (a)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="another program"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_file_of_a_newer_version_is_refused(store: SqliteStore, path: Path) -> None:
    store._connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InvalidInput, match="version 99"):
        SqliteStore(path)


def test_a_file_of_the_version_before_is_upgraded_and_keeps_what_it_has(path: Path) -> None:
    old = sqlite3.connect(path)
    old.executescript(resources.files("hushprice.service.store").joinpath("sqlite_1.sql").read_text())
    old.execute(f"PRAGMA application_id = {sqlite_file.APPLICATION}")
    old.execute("PRAGMA user_version = 1")
    old.execute("UPDATE lease SET holder = 'old', until = 50.0")
    old.commit()
    old.close()
    store = SqliteStore(path)
    assert store.learning_progress(49.0) == LearningProgress(True, LearnerReport(0.0, 0), {})
    store.close()


def test_ids_of_version_4_are_found_and_are_not_stored_twice(path: Path) -> None:
    """Their last random bytes are where those of the clock are now."""
    old = sqlite3.connect(path)
    for number in (1, 2, 3, 4):
        old.executescript(resources.files("hushprice.service.store").joinpath(f"sqlite_{number}.sql").read_text())
    old.execute(f"PRAGMA application_id = {sqlite_file.APPLICATION}")
    old.execute("PRAGMA user_version = 4")
    old.execute("INSERT INTO product (name, spec, rules, created, slots) VALUES (?, x'', x'', 1.0, 2)", (PRODUCT,))
    ids = [os.urandom(16).hex() for _ in range(2)]
    for slot, each in enumerate(ids, start=1):
        row = (slot, bytes.fromhex(each))
        old.execute("INSERT INTO quote VALUES (1, ?, ?, 'shop', 0.5, 0, 1, 1e9, 3, 0" + ", NULL" * 8 + ")", row)
    old.commit()
    old.close()
    store = SqliteStore(path)
    assert [tell(store, each).status for each in [*ids, "0" * 32]] == ["recorded", "recorded", "unknown"]
    assert [each.id for each in give(store, quote(id=ids[0]), quote(id="1" * 32))] == [ids[0], "1" * 32]
    assert store._connection.execute("SELECT slots FROM product").fetchone() == (3,)
    store.close()


def test_an_id_is_found_by_its_index(store: SqliteStore) -> None:
    plan = store._connection.execute(f"EXPLAIN QUERY PLAN {sqlite_quotes._FIND_QUOTE}", (b"",)).fetchall()
    assert [row[-1] for row in plan] == ["SEARCH quote USING INDEX quote_id (<expr>=? AND id=?)"]


def test_quotes_given_together_are_on_few_pages_of_the_log(store: SqliteStore, path: Path) -> None:
    random = np.random.default_rng(6)

    def pages(times: Sequence[float]) -> int:
        """That the log grows by, for so many quotes in one transaction."""
        log = path.with_name(path.name + "-wal")
        before = log.stat().st_size
        give(store, *(quote(id=quote_ids.new_id(b"", "shop", random.bytes(10), at)) for at in times))
        return (log.stat().st_size - before) // 4096

    store._connection.execute("PRAGMA wal_autocheckpoint = 0")
    pages(random.uniform(0.0, 1e9, 6000).tolist())
    assert 2 * pages([1e9] * 100) < pages(random.uniform(0.0, 1e9, 100).tolist())


def test_a_damaged_file_is_said_to_be_damaged(path: Path) -> None:
    store = SqliteStore(path)
    store.add_product(PRODUCT, b"{}" * 3000, b"{}", 1000.0)
    given(store, 500)
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreUnavailable, match="damaged"):
        _used(path)


def _used(path: Path) -> None:
    store = SqliteStore(path)
    try:
        given(store)
    finally:
        store.close()


def test_an_address_of_something_else_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"\Astore: must be a file's path or postgresql://\.\.\.\Z"):
        open_store("mysql://user:password@host", "learner")


def test_a_process_that_comes_and_goes_leaves_the_log_of_one_that_stays(path: Path) -> None:
    """Two connections in this process, as the service has; another lists keys meanwhile."""
    first, second = SqliteStore(path), SqliteStore(path)
    first.add_product(PRODUCT, b"{}", b"{}", 1.0)
    code = "import sys; from hushprice.service.store import open_store; open_store(sys.argv[1], 'learner').close()"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    log = path.with_name(path.name + "-wal")
    assert log.exists()
    given(second, 3)
    assert first.products()[0].slots == 3
    again = SqliteStore(path)
    assert again.products()[0].slots == 3
    for each in (first, second, again):
        each.close()


def test_two_processes_that_start_at_once_make_one_store(path: Path) -> None:
    code = "import sys; from hushprice.service.store import open_store; open_store(sys.argv[1], 'quoter').close()"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    store = SqliteStore(path)
    assert store.products() == []
    store.close()


def test_another_program_that_closes_the_file_deletes_no_log_that_is_in_use(store: SqliteStore, path: Path) -> None:
    """Two connections of one process, as the service has them: opening the second must not unlock the first."""
    second = SqliteStore(path)
    look = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM product'); c.close()"
    subprocess.run([sys.executable, "-c", look, str(path)], check=True)
    given(store)
    code = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM quote').fetchone())"
    seen = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True).stdout
    second.close()
    assert seen.strip() == "(1,)"


def test_a_process_that_writes_all_the_time_keeps_nobody_out(store: SqliteStore, path: Path) -> None:
    busy, end, written = SqliteStore(path), threading.Event(), [0]

    def write() -> None:
        while not end.is_set():
            given(busy, 5)
            written[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    between = []
    for now in range(20):
        before = written[0]
        store.beat(float(now))
        between.append(written[0] - before)
        eventually(lambda since=written[0]: written[0] > since + 2)  # it is at it again
    end.set()
    thread.join()
    busy.close()
    # The one at hand, and another where this thread has not come to ask yet. Without turns it is ten and more, so that
    # waits are longer the slower the disk is; counted, because seconds would tell of the machine.
    assert sorted(between)[15] <= 4, between
    assert problems(store) == []


def test_a_lock_that_somebody_never_lets_go_of_keeps_nobody_out(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_write_lock, "WAIT", 0.05)
    with open(f"{path}-turn", "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert len(given(store)) == 1


def test_a_disk_that_knows_no_locks_is_written_without(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unknown)
    assert len(given(store)) == 1


def test_a_start_waits_for_a_writer_of_the_old_journal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).close()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for statement in ("PRAGMA journal_mode = DELETE", "BEGIN IMMEDIATE"):
        other.execute(statement).fetchall()
    monkeypatch.setattr(sqlite_file, "WAIT", 0.05)
    with pytest.raises(StoreUnavailable, match="locked by another process"):
        SqliteStore(path)
    monkeypatch.setattr(sqlite_file, "WAIT", PATIENCE)
    timer = threading.Timer(0.2, other.execute, ["COMMIT"])
    timer.start()
    store = SqliteStore(path)
    timer.join()
    other.close()
    assert setting(store, "journal_mode") == "wal"
    store.close()


def test_every_query_of_a_start_and_of_a_quote_uses_an_index(store: SqliteStore) -> None:
    """So that a million quotes cost a start nothing."""
    plans: list[str] = []

    def explain(statement: str) -> None:
        if statement.lstrip().startswith(("SELECT", "UPDATE", "DELETE")) and "sqlite_schema" not in statement:
            asked.append(statement)

    asked: list[str] = []
    store._connection.set_trace_callback(explain)
    new = quote(customer=b"ann", cap=3, idempotency=b"k", fingerprint=b"f")
    give(store, new, quote(idempotency=b"k"))
    tell(store, new.id)
    _start(store)
    store.forget(b"ann")
    store._connection.set_trace_callback(None)
    for statement in asked:
        for row in store._connection.execute("EXPLAIN QUERY PLAN " + statement):
            plans.append(row[3])
    scans = {plan for plan in plans if plan.startswith("SCAN") and "subquery" not in plan}
    assert len(plans) > 20
    small = {"SCAN clock", "SCAN lease", "SCAN product", "SCAN seen"}  # none grows with quotes
    assert scans <= small | {"SCAN CONSTANT ROW", "SCAN json_each VIRTUAL TABLE INDEX 1:"}, scans


def _start(store: LearnerStore) -> None:
    pass_time(store, 20.0)
    learn(store, 1, release(1, 1))
    store.products(), store.latest_release(PRODUCT), store.releases(PRODUCT, 1), store.changes(PRODUCT)
    store.state(PRODUCT), store.due(PRODUCT, 1, 10), store.highest_seen(PRODUCT), store.certificate(PRODUCT)
    store.heads(), store.latest_releases([PRODUCT]), store.history(PRODUCT), store.products_to_learn()
    store.last_change(), store.uncertified("today "), store.key_counts(), store.quotes_by_key(PRODUCT, 0, 9)
    store.oldest_quotes()
    store.figures(PRODUCT), store.daily_figures(PRODUCT, 3), store.learner_alive(1.0)


def test_the_schema_is_one_statement_after_the_other() -> None:
    assert len(list(sqlite_file.statements("CREATE TABLE a (b); CREATE TABLE c (d);\n"))) == 1
    assert list(sqlite_file.statements("-- only a comment\n")) == []


def test_a_value_that_the_database_refuses_is_no_outage(path: Path) -> None:
    store = SqliteStore(path)
    store._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    with pytest.raises(ValueRefused, match=ONE_LINE):
        store.add_product("long", b"x" * 2000, b"{}", 1.0)
    store.add_product("short", b"{}", b"{}", 1.0)
    store.close()
