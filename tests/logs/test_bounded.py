"""At most so many rows of every customer, chosen without a look at what they hold, all of them in one place."""

from __future__ import annotations

import pickle
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import polars
import pytest
from tests.logs.tables import KEY, PRODUCT, joined, visits

from hushprice.errors import InvalidInput
from hushprice.logs import bounded as module
from hushprice.logs import encoding, sources
from hushprice.logs.bounded import BoundedLog, Taken, bounded
from hushprice.logs.read import TableLog, open_log
from hushprice.logs.rows import LogRows

FRAME = visits(500)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files, several blocks, several chunks."""
    monkeypatch.setattr(module, "PER_FILE", 100)
    monkeypatch.setattr(module, "BLOCK", 32)
    monkeypatch.setattr(encoding, "BLOCK", 24)
    monkeypatch.setattr(sources, "CHUNK", 60)


def log_of(frame: polars.DataFrame = FRAME) -> TableLog:
    return open_log(frame, product=PRODUCT, key=KEY)


def by_customer(rows: LogRows) -> dict[int, list[tuple[float, ...]]]:
    """Every customer's rows, in order."""
    assert rows.customers is not None
    assert rows.propensities is not None
    found: dict[int, list[tuple[float, ...]]] = {}
    for at, customer in enumerate(rows.customers.tolist()):
        numbers = (*rows.contexts[at], rows.prices[at], rows.demands[at], rows.propensities[at])
        found.setdefault(customer, []).append(tuple(map(float, numbers)))
    return found


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_customers_first_rows_are_kept_and_nobody_elses_change(most: int) -> None:
    everything = by_customer(joined(log_of()))
    log = bounded(log_of(), most=most)
    assert isinstance(log, BoundedLog)
    kept = by_customer(joined(log))
    assert kept == {customer: rows[:most] for customer, rows in everything.items()}
    assert sum(log.left_out.values()) == 500 - sum(map(len, kept.values()))
    assert by_customer(joined(log)) == kept  # it can be read again


def test_a_customer_is_in_one_partition_and_in_one_block() -> None:
    log = bounded(log_of(), most=3)
    assert log.partitions == 5
    seen: Counter[int] = Counter()
    for partition in range(log.partitions):
        for block in log.blocks(partition):
            assert block.customers is not None
            assert len(block.prices) <= 32
            unique = np.unique(block.customers)
            assert (np.diff(np.flatnonzero(np.diff(block.customers, prepend=block.customers[0] - 1))) <= 3).all()
            seen.update(unique.tolist())
    assert set(seen.values()) == {1}


def test_whoever_replaces_one_customers_rows_changes_at_most_so_many() -> None:
    """The promise itself: neighbours in one customer, far more rows than the bound, at other places of the log."""
    rng = np.random.default_rng(7)
    others = FRAME.filter(polars.col("customer") != "c1")
    for most in (1, 4):
        worlds = []
        for count in (0, 40):
            own = visits(count, seed=99).with_columns(customer=polars.lit("c1"))
            mixed = polars.concat([others, own.select(others.columns)])
            order = np.argsort(np.concatenate([np.arange(others.height), rng.uniform(0, others.height, count)]))
            rows = joined(bounded(log_of(mixed[order.tolist()]), most=most))
            worlds.append(Counter(row for rows in by_customer(rows).values() for row in rows))
        assert sum((worlds[1] - worlds[0]).values()) == most
        assert not worlds[0] - worlds[1]


def test_counting_in_pieces_is_counting_at_once() -> None:
    rng = np.random.default_rng(5)
    customers = rng.integers(-4, 4, 400)
    expected, counts = [], Counter[int]()
    for customer in customers.tolist():
        expected.append(counts[customer] < 6)
        counts[customer] += 1
    taken = Taken(6)
    pieces = [taken.keep(part) for part in np.split(customers, [3, 50, 51, 300])]
    assert np.concatenate(pieces).tolist() == expected


def test_the_spill_is_private_and_goes_when_it_is_not_needed(tmp_path: Path) -> None:
    log = bounded(log_of(), most=2, folder=tmp_path)
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    copy = pickle.loads(pickle.dumps(log))
    assert by_customer(joined(copy)) == by_customer(joined(log))
    del copy
    assert folder.exists()
    del log
    assert not folder.exists()


def test_nothing_is_left_when_a_bad_row_ends_the_pass(tmp_path: Path) -> None:
    cells = FRAME["price"].to_list()
    cells[450] = None
    with pytest.raises(InvalidInput, match="row 451 of the log"):
        bounded(log_of(FRAME.with_columns(price=polars.Series(cells))), most=2, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_log_without_customers_is_itself_and_a_bound_of_none_is_refused() -> None:
    log = log_of(FRAME.drop("customer"))
    assert bounded(log, most=2) is log
    for most in (0, 33):
        with pytest.raises(InvalidInput, match="most must"):
            bounded(log_of(), most=most)
