"""The learner's process, played in this one: as a role of its own, and as a child that ends with its parent."""

from __future__ import annotations

import os
import re
import runpy
import signal
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from tests.service.learning_runs import spec
from tests.waiting import PATIENCE, eventually

from hushprice.errors import InvalidInput
from hushprice.service.http import sockets
from hushprice.service.learning import child, learner_main
from hushprice.service.learning.loop import LearningLoop
from hushprice.service.shared import setup
from hushprice.service.shared.child_settings import STORE_AWAY, ChildSettings, encode
from hushprice.service.shared.config import ServiceSettings, build
from hushprice.service.store import open_store
from hushprice.service.store.protocol import StoreUnavailable


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    chosen = build({"store": str(tmp_path / "shop.db"), "operator_port": 0})
    setup.customer_secret(chosen, lambda line: None)
    with setup.opened(chosen) as store:
        store.add_product("tea", spec(), b"{}", 1000.0)
    return chosen


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The codes this process would have ended with at once; signals are as they were afterwards."""
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        if threading.current_thread() is threading.main_thread():
            raise SystemExit(code)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(learner_main, "_FAREWELL", 0.0)
    yield codes
    signal.signal(signal.SIGINT, before)


def beside(run: Callable[[], None], use: Callable[[], None]) -> None:
    """`run` here, because signals come to the first thread alone, and `use` in another."""
    failed: list[BaseException] = []

    def used() -> None:
        try:
            use()
        except BaseException as problem:
            failed.append(problem)
            raise

    thread = threading.Thread(target=used)
    thread.start()
    run()
    thread.join()
    assert not failed


def admin(settings: ServiceSettings) -> dict[str, str]:
    return {"x-api-key": tomllib.loads(setup.keys_file(settings).read_text())["keys"]["admin"]}


def test_a_learner_of_its_own_learns_until_a_signal_ends_it(settings: ServiceSettings) -> None:
    said: list[str] = []

    def use() -> None:
        url = eventually(lambda: re.search(r"for the operator (\S+)", " ".join(said)))[1]
        with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
            eventually(lambda: client.get("/readyz/learning").status_code == 200)
            eventually(lambda: client.get("/v1/products/tea/certificate").status_code == 200)
        os.kill(os.getpid(), signal.SIGTERM)

    for _ in range(2):  # the second time with the signing key of the first
        said.clear()
        beside(lambda: learner_main.run(settings, said.append), use)
    store = open_store(settings.store.reveal(), "learner")
    assert not store.learner_alive(0.0)  # the lease was let go of
    store.close()


class Pipe:
    """Standard input of a child, and the parent's end of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, first: bytes = b"") -> None:
        read, self._write = os.pipe()
        self._file = os.fdopen(read, "rb")
        self.send(first)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=self._file))

    def send(self, text: bytes) -> None:
        os.write(self._write, text)

    def end(self) -> None:
        os.close(self._write)

    def close(self) -> None:
        """After the thread that reads from it."""
        for thread in threading.enumerate():
            if thread.name == "hushprice-parent":
                thread.join()
        self._file.close()


def test_a_child_serves_raw_figures_and_ends_with_its_parent(
    settings: ServiceSettings, exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = sockets.listen("127.0.0.1", 0, "operator_port")
    url, key = sockets.address(listening), admin(settings)
    pipe = Pipe(monkeypatch, encode(ChildSettings(settings, listening.detach())))

    def use() -> None:
        with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False, headers=key) as client:

            def figures() -> Any:
                return client.get("/v1/operator/products/tea/figures").json()

            eventually(lambda: client.get("/readyz/learning").status_code == 200)
            assert figures()["clipped"]["attributes"] is None  # no quoter has said so far
            pipe.send(b'{"clipped": {"tea": 3}, "record_answers": {"2xx": 2}}\n{"te')
            eventually(lambda: figures()["clipped"]["attributes"] == 3)
            activity = client.get("/v1/operator/activity").json()
            assert (activity["record_answers"], activity["alarms"]) == ({"2xx": 2}, [])
            assert 'hushprice_key_alarms_total{kind="horizon"} 0' in client.get("/metrics").text
            assert client.get("/v1/operator/products/coffee/figures").status_code == 404
            trail = client.get("/v1/operator/trail").json()
            assert [act["what"] for act in trail["acts"]] == ["add key"] * 3 + ["create product"]
            assert {act["actor"] for act in trail["acts"][:3]} == {"first start"}
            assert httpx.get(f"{url}/v1/operator/trail", trust_env=False).status_code == 401
        pipe.end()  # within a line, as when the parent was killed

    def run() -> None:
        with pytest.raises(SystemExit):
            child.main()

    beside(run, use)
    pipe.close()
    assert sorted(exits) == [0, 1]  # at its end, and by who watched for the parent's
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_a_child_whose_parent_is_gone_before_it_said_anything(
    exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = Pipe(monkeypatch, b'{"settings')
    pipe.end()
    with pytest.raises(SystemExit):
        runpy.run_path(child.__file__, run_name="__main__")
    pipe.close()
    assert exits == [1]


def test_a_child_without_a_store_says_so_in_one_line(
    tmp_path: Path, exits: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "folder").mkdir()
    listening = sockets.listen("127.0.0.1", 0, "operator_port")
    line = encode(ChildSettings(build({"store": str(tmp_path / "folder")}), listening.detach()))
    with pytest.raises(SystemExit) as caught:
        learner_main.run_child(line, child.Parent())
    assert (caught.value.code, exits) == (STORE_AWAY, [])
    assert re.fullmatch(r"store: the store \S+ cannot be opened[^\n]*", caplog.messages[-1])


def test_a_child_that_cannot_sign_says_so_in_one_line(
    settings: ServiceSettings, exits: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    settings.beside_store(".signing.pem").write_text("no key")
    listening = sockets.listen("127.0.0.1", 0, "operator_port")
    with pytest.raises(SystemExit) as caught:
        learner_main.run_child(encode(ChildSettings(settings, listening.detach())), child.Parent())
    assert (caught.value.code, exits) == (2, [])  # which counts as a death
    assert re.fullmatch(r"[^\n]*signing[^\n]*", caplog.messages[-1])


def test_a_learner_of_its_own_without_a_store_says_so(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(address: str, role: str) -> None:
        raise StoreUnavailable("the store is gone since")

    monkeypatch.setattr(learner_main, "open_store", away)
    with pytest.raises(InvalidInput, match="store: the store is gone since"):
        learner_main.run(settings, lambda line: None)


def test_a_learner_that_hangs_is_left_behind_when_its_process_ends(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun, goes_on, left = threading.Event(), threading.Event(), []

    def hangs(self: LearningLoop, stop: threading.Event) -> None:
        begun.set()
        goes_on.wait(PATIENCE)

    monkeypatch.setattr(LearningLoop, "run", hangs)
    monkeypatch.setattr(learner_main, "_FAREWELL_OF_LOOP", 0.0)
    monkeypatch.setattr(learner_main, "exit_at_once", lambda: left.append(True))

    def use() -> None:
        assert begun.wait(PATIENCE)
        os.kill(os.getpid(), signal.SIGTERM)

    beside(lambda: learner_main.run(settings, lambda line: None), use)
    goes_on.set()
    assert left == [True]
    assert "the learner hangs" in caplog.text


def test_a_child_that_is_started_again_looks_for_damage_first(
    settings: ServiceSettings, exits: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    path = Path(settings.store.reveal())
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(4096) + content[8192:])
    listening = sockets.listen("127.0.0.1", 0, "operator_port")
    with pytest.raises(SystemExit) as caught:
        learner_main.run_child(encode(ChildSettings(settings, listening.detach(), again=True)), child.Parent())
    assert (caught.value.code, exits) == (2, [])
    assert re.fullmatch(r"store: the store \S+ is damaged[^\n]*", caplog.messages[-1])


def test_a_loop_that_fails_ends_the_process_and_tells_no_record(
    settings: ServiceSettings, exits: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(self: LearningLoop) -> bool:
        raise ValueError("a record of 0.4177")

    monkeypatch.setattr(LearningLoop, "turn", fails)
    with setup.opened(settings) as store, pytest.raises(SystemExit):
        learner_main._learn(LearningLoop(store), threading.Event())
    assert exits == [1]
    assert "the learner failed: ValueError" in caplog.text
    assert "4177" not in caplog.text
