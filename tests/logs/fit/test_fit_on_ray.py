"""A fit on a real Ray cluster of two nodes, one of which is killed midway: the same release, drawn once."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.logs.fit.fit_logs import PRODUCT, drawn

import hushprice
from hushprice.logs.fit import run_fit
from hushprice.logs.read import open_log

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'hushprice[cluster]'")
pytestmark = pytest.mark.filterwarnings("default")  # Ray's own warnings are not ours to answer for

PARTS = 8
NOTED = """
import time
import ray

class NotedLog:
    def __init__(self, log, notes):
        self.log, self.notes, self.partitions, self.rows = log, notes, log.partitions, log.rows

    def blocks(self, partition):
        self.note("start", partition)
        yield from self.log.blocks(partition)
        if ray.is_initialized():
            time.sleep(0.3)
        self.note("end", partition)

    def note(self, what, partition):
        node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else "here"
        with open(self.notes, "a") as file:
            file.write(f"{what} {partition} {node}\\n")
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes of one processor each, which can import noted_log."""
    from ray.cluster_utils import Cluster

    (tmp_path / "noted_log.py").write_text(NOTED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    store = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, connect=False, head_node_args=store)
    nodes.second = nodes.add_node(num_cpus=1, object_store_memory=100_000_000)
    ray.init(address=nodes.address, log_to_driver=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def test_a_killed_node_changes_no_digit_and_spends_nothing_twice(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import polars

    rows, notes = drawn(PARTS * 500), tmp_path / "notes"
    table = polars.DataFrame({"x1": rows.contexts[:, 0], "x2": rows.contexts[:, 1], "bought": rows.demands > 0.5})
    table = table.with_columns(price=25.0 + 5.0 * rows.prices)
    (tmp_path / "log").mkdir()
    for part in range(PARTS):
        table.slice(part * 500, 500).write_parquet(tmp_path / "log" / f"{part}.parquet")
    log = open_log(tmp_path / "log", product=PRODUCT)
    noted = importlib.import_module("noted_log").NotedLog(log, str(notes))
    second, lost, drawn_for = cluster.second.node_id, list[str](), list[int]()

    def on_second(what: str) -> list[str]:
        words = [line.split() for line in notes.read_text().splitlines()]
        return [part for said, part, node in words if said == what and node == second]

    def kill_second(done: int, whole: int) -> None:
        begun, ended = on_second("start"), on_second("end")
        if done > PARTS and len(begun) > len(ended) and not lost:  # in the second pass or later, with a part under way
            cluster.remove_node(cluster.second, allow_graceful=False)
            lost.append(begun[-1])

    real = run_fit.published

    def counted(total: list[int], noise: float, source: Any, number: int) -> Any:
        drawn_for.append(number)
        return real(total, noise, source, number)

    monkeypatch.setattr(run_fit, "published", counted)
    asked: dict[str, Any] = {"product": PRODUCT, "epsilon": 1.0, "seed": 3, "simulation": True}
    found = hushprice.fit(noted, **asked, executor="ray", progress=kill_second, output=tmp_path / "fit.json")
    assert lost
    assert notes.read_text().count("start") > 6 * PARTS  # what was under way there was read again
    assert drawn_for == [0, 1, 2, 3, 4, 5]
    assert found.ledger.count(found.event) == 1
    ray.shutdown()
    expected = hushprice.fit(log, **asked)
    assert found.releases == expected.releases
    assert found.theta == expected.theta
    np.testing.assert_array_equal(found.covariance, expected.covariance)
