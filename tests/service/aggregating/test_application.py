"""An aggregator's calls, to which nobody logs in: what they may hold, and what they say of a disk that is full."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.aggregating.test_aggregator_store import IDS, PROMISE, SCALES, agreed, opened, over, share
from tests.service.aggregator_runs import aggregating, write_promises
from tests.service.http.hostile import MEBIBYTE, answer, connect, exchange, pour

from hushprice.errors import InvalidInput
from hushprice.service.aggregating import aggregator_main, aggregator_store, application
from hushprice.service.aggregating.aggregator_store import AggregatorStore, NotAgreed
from hushprice.service.aggregating.application import AggregatorApplication


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AggregatorStore]:
    made = opened(tmp_path)
    yield made
    made.close()


class Asked:
    """A request whose body comes as it is given."""

    def __init__(self, made: AggregatorApplication, path: str, method: str = "POST") -> None:
        self.pieces: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        scope = {"type": "http", "method": method, "path": path, "headers": []}
        self.task = asyncio.create_task(made(scope, self.pieces.get, self._send))

    async def _send(self, message: Any) -> None:
        self.sent.append(message)

    async def give(self, body: bytes, *, more: bool) -> None:
        self.pieces.put_nowait({"type": "http.request", "body": body, "more_body": more})
        while not self.pieces.empty() and not self.task.done():
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def status(self) -> tuple[int, Any]:
        await self.task
        return self.sent[0]["status"], json.loads(self.sent[1]["body"])


BATCH = json.dumps({"product": "tea", "follows": 0, "choice": 0, "quotes": ""}).encode()


def test_all_batches_that_are_read_share_what_they_may_hold(
    store: AggregatorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who sends many and ends none is refused; a share and a usual batch come through, and any batch afterwards."""
    monkeypatch.setattr(application, "MOST_HELD", 10_000)
    monkeypatch.setattr(application, "USUAL", 3_000)

    async def main() -> None:
        made = AggregatorApplication(store, Ed25519PrivateKey.generate())
        held = [Asked(made, path) for path in ("/v1/batches", "/v1/totals")]
        for each in held:
            await each.give(bytes(4999), more=True)
        one_more, share = Asked(made, "/v1/batches"), Asked(made, "/v1/shares")
        await one_more.give(bytes(4000), more=True)
        assert (await one_more.status())[0] == 429
        usual = Asked(made, "/v1/batches")
        await usual.give(BATCH + b" " * 2500, more=False)
        assert await usual.status() == (200, {"quotes": ""})
        await share.give(b"{}" + b" " * 8000, more=False)
        assert (await share.status())[0] == 422  # read, and found to be none
        for each in held:
            each.pieces.put_nowait({"type": "http.disconnect"})
            assert (await each.status())[0] == 400
        last = Asked(made, "/v1/batches")
        await last.give(BATCH, more=False)
        assert await last.status() == (200, {"quotes": ""})

    asyncio.run(main())


@pytest.mark.parametrize("problem", [sqlite3.OperationalError("disk is full"), OSError(28, "No space left")])
def test_a_full_disk_is_said_as_such(
    problem: Exception, store: AggregatorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> Any:
        raise problem

    monkeypatch.setattr(store, "over", full)

    async def main() -> None:
        asked = Asked(AggregatorApplication(store, Ed25519PrivateKey.generate()), "/v1/batches")
        await asked.give(BATCH, more=False)
        status, body = await asked.status()
        assert (status, body["error"]["code"]) == (503, "store_unavailable")

    asyncio.run(main())


def test_a_path_says_its_method_and_ids_are_whole(store: AggregatorStore) -> None:
    async def asked(method: str, path: str, **changes: Any) -> tuple[int, Any, dict[bytes, bytes]]:
        made = Asked(AggregatorApplication(store, Ed25519PrivateKey.generate()), path, method)
        await made.give(json.dumps({**json.loads(BATCH), **changes}).encode(), more=False)
        status, body = await made.status()
        return status, body.get("error", {}).get("code"), dict(made.sent[0]["headers"])

    async def main() -> None:
        for method, path, allowed in (("GET", "/v1/batches", b"POST"), ("POST", "/v1/aggregator", b"GET")):
            status, code, headers = await asked(method, path)
            assert (status, code, headers[b"allow"]) == (405, "method_not_allowed", allowed)
        assert (await asked("POST", "/v1/nothing"))[:2] == (404, "not_found")
        for quotes in ("0" * 31, "A" * 32, "0" * 31 + "x", " " * 32):
            assert (await asked("POST", "/v1/batches", quotes=quotes))[:2] == (422, "invalid")

    asyncio.run(main())


ODD: list[Any] = [None, True, -1, 10**30, 1.5, -1e308, "", "x" * 70_000, "é\u0000", "0" * 32, [], {}, [[]], {"a": 1}]


def test_no_odd_call_is_a_fault_of_its_own(store: AggregatorStore) -> None:
    """Whatever a field is, and whatever is no JSON: refused, or taken for what it is."""
    sound = {
        "/v1/shares": share(IDS[0], [1] * SCALES.size),
        "/v1/batches": over(IDS[:2]),
        "/v1/totals": agreed(over(IDS[:2]), IDS[:1]),
    }

    async def main() -> None:
        made, seen = AggregatorApplication(store, Ed25519PrivateKey.generate()), set()
        for path, message in sound.items():
            fields = json.loads(msgspec.json.encode(message))
            bodies = [json.dumps({**fields, name: odd}).encode() for name in (*fields, "more") for odd in ODD]
            for body in (*bodies, b"", b"[" * 50_000, b"\xff", b'{"product": NaN}', b"null"):
                asked = Asked(made, path)
                await asked.give(body, more=False)
                seen.add((await asked.status())[0])
        assert {200, 400, 409, 422} <= seen <= {200, 400, 409, 413, 422}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("start", "again", "status"),
    [
        (b"GET /v1/aggregator HTTP/1.1\r\nx: ", b"a", 431),
        (b"POST /v1/shares HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;", b"a", 431),
        (b"", b"GET /v1/aggregator HTTP/1.1\r\nhost: x\r\n\r\n", 200),  # pipelined, and never read
    ],
)
def test_its_edge_has_the_services_limits(start: bytes, again: bytes, status: int, tmp_path: Path) -> None:
    with aggregating(tmp_path / "one", {"tea": PROMISE}) as made, contextlib.closing(connect(made.url)) as hostile:
        assert pour(hostile, start, again, MEBIBYTE) < MEBIBYTE
        assert answer(hostile)[0] == status
        with contextlib.closing(connect(made.url)) as honest:
            assert exchange(honest, b"GET /v1/aggregator HTTP/1.1\r\nhost: x\r\n\r\n")[0] == 200


@pytest.mark.parametrize("store", ["postgresql://me:hunter2@host/db", "postgres//me:hunter2@host/db"])
def test_the_address_of_a_database_is_refused_and_not_shown(store: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^store: must be a file$"):
        aggregator_main.run(
            promises=tmp_path / "none", store=Path(store), state_dir=None, host="127.0.0.1", port=0, say=print
        )


def test_no_more_batches_are_over_than_a_horizon_has_quotes(
    store: AggregatorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can say that one is, and each takes room in the file."""
    monkeypatch.setattr(aggregator_store, "MOST_BATCHES", 4)
    for follows in range(4):
        store.over(over([], follows))
    store.over(over([], 3))  # the same once more
    with pytest.raises(NotAgreed, match="too many batches are over"):
        store.over(over([], 4))


def test_quotes_that_there_are_not_take_no_room(store: AggregatorStore, tmp_path: Path) -> None:
    """One call named four million; they took minutes and the room of every batch to come."""
    store.over(over([f"{n:032x}" for n in range(3000)]))
    with contextlib.closing(sqlite3.connect(tmp_path / "aggregator.db")) as connection:
        assert connection.execute("SELECT count(*) FROM share").fetchone() == (0,)


def test_few_quotes_among_many_shares_are_found_and_many_among_few(store: AggregatorStore) -> None:
    """There are two ways to look them up."""
    ids = [f"{n:032x}" for n in range(20)]
    for each in ids[:10]:
        store.receive(share(each, [1] * SCALES.size))
    assert store.over(over(ids[8:12], 1)) == "".join(ids[8:10])
    assert store.over(over(ids, 2)) == "".join(ids[:8])
    assert store.over(over(ids, 3)) == ""


def test_a_user_without_a_home_is_told_to_name_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a line, and with a folder given it starts."""
    promises = write_promises(tmp_path / "promises.toml", "tea", PROMISE)
    home = tmp_path / "no-folder"
    home.touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    with pytest.raises(InvalidInput, match=r"^state_dir: .*no-folder/hushprice cannot be written"):
        aggregator_main.opened(promises, tmp_path / "aggregator.db", None)
    with contextlib.closing(aggregator_main.opened(promises, tmp_path / "aggregator.db", tmp_path / "notes")):
        assert {each.name.partition("-")[0] for each in (tmp_path / "notes").iterdir()} == {"aggregated"}
