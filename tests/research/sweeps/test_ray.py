"""A real Ray cluster of two nodes on this machine: the digits of a local run, even when one node is killed midway."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars
import pytest

from hushprice.cli import main
from hushprice.errors import InvalidInput
from hushprice.research.experiments.registry import chosen
from hushprice.research.sweeps import ray_executor
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import LocalExecutor, open_executor
from hushprice.research.sweeps.ray_executor import check_answers
from hushprice.research.sweeps.run import run_cells
from hushprice.research.sweeps.store import TrialStore

pytest.importorskip("ray", reason="ray is not installed: pip install 'hushprice[cluster]'")
pytestmark = pytest.mark.filterwarnings("default")  # Ray's own warnings are not ours to answer for


POLICY = """
import time
import ray

class Slow:
    def __init__(self, setting):
        self.trial, self.left = setting.trial, setting.horizon
        self.note("start")
    def note(self, what):
        if ray.is_initialized():
            with open(LOG, "a") as log:
                log.write(f"{what} {self.trial} {ray.get_runtime_context().get_node_id()}\\n")
    def price(self, x):
        if ray.is_initialized():
            time.sleep(0.001)
        return 0.5
    def learn(self, *_):
        self.left -= 1
        if self.left == 0:
            self.note("end")
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a policy that nodes can import, slow_on_ray:Slow, notes when and on which node a trial starts and ends."""
    (tmp_path / "slow_on_ray.py").write_text(POLICY.replace("LOG", repr(str(tmp_path / "log"))))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path / "log"


@pytest.fixture
def cluster(log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes of one processor each."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    store = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, connect=False, head_node_args=store)
    nodes.second = nodes.add_node(num_cpus=1, object_store_memory=100_000_000)
    yield nodes
    nodes.shutdown()


def test_a_killed_node_costs_time_and_no_digit(cluster: Any, log: Path, tmp_path: Path, same: Callable) -> None:
    cells = [
        Cell(policy="slow_on_ray:Slow", horizon=1500),
        Cell(policy="paper", horizon=200_000, epsilon=4.0, calibration="published"),
        Cell(policy="nonprivate", horizon=100_000, dimension=3),
    ]
    executor = open_executor("ray", address=cluster.address)
    second, lost = cluster.second.node_id, set()

    def notes(what: str) -> list[tuple[str, str]]:
        words = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [(trial, node) for said, trial, node in words if said == what]

    def kill_second(done: int, whole: int) -> None:
        under_way = {trial for trial, node in notes("start") if node == second} - {trial for trial, _ in notes("end")}
        if under_way and not lost:
            cluster.remove_node(cluster.second, allow_graceful=False)
            lost.update(under_way)

    try:
        assert executor.slots == 2
        found = run_cells(cells, trials=6, store=TrialStore(tmp_path / "kept"), executor=executor, progress=kill_second)
    finally:
        executor.close()
    assert lost
    for trial in lost:  # begun on the killed node, and again on the other
        begun = [node for started, node in notes("start") if started == trial]
        assert begun[0] == second
        assert [node for ended, node in notes("end") if ended == trial] == [begun[-1]]
        assert begun[-1] != second
    expected = run_cells(cells, trials=6, executor=LocalExecutor(2))
    stored = run_cells(cells, trials=6, store=TrialStore(tmp_path / "kept"), executor=LocalExecutor(1))
    for cell in cells:
        same(found[cell], expected[cell])
        same(stored[cell], expected[cell])


def test_reproduce_leaves_the_table_of_a_local_run(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    places = {"here": "--executor local --workers 1", "there": f"--executor ray --address {cluster.address}"}
    for folder, where in places.items():
        words = f"reproduce tab:diffeps --quick --trials 2 {where} --output {tmp_path / folder}"
        monkeypatch.setattr(sys, "argv", ["hushprice", *words.split()])
        with pytest.raises(SystemExit) as caught:
            main()
        assert not caught.value.code, capfd.readouterr().err
    here, there = (polars.read_parquet(tmp_path / folder / "quick" / "diffeps.parquet") for folder in places)
    assert here.height == len(chosen(["tab:diffeps"])[0].entries(quick=True))
    assert here["ours"].n_unique() > 1
    assert there.equals(here)


def test_a_node_with_another_program_is_refused(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = open_executor("ray", address=cluster.address)
    try:
        monkeypatch.setattr(ray_executor, "program", lambda policy: ["an older one"])
        with pytest.raises(InvalidInput, match="another version of hushprice"):
            run_cells(
                [Cell(policy="random", horizon=100)], trials=1, store=TrialStore(tmp_path / "kept"), executor=executor
            )
    finally:
        executor.close()
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.fixture
def deaf() -> Iterator[str]:
    """The address of a server that says something else."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            there, _ = server.accept()
            with there:
                there.recv(100)
                there.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nowhere.invalid:6379", "127.0.0.1:port", "auto"]
)
def test_an_address_that_does_not_answer_is_refused_soon(address: str) -> None:
    started = time.monotonic()
    with pytest.raises(InvalidInput, match=r"does not answer|is no Ray cluster") as caught:
        open_executor("ray", address=address)
    assert repr(address) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert time.monotonic() - started < 15


def test_another_server_is_not_taken_for_a_cluster(deaf: str) -> None:
    with pytest.raises(InvalidInput, match="does not answer as a Ray cluster does"):
        check_answers(deaf)
