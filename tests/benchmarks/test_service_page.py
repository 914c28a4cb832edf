"""The tables of docs/lab/service_speed.md are those the results give, and the load tool counts what it should."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "service"
ANSWER = b"HTTP/1.1 %d X\r\ncontent-length: 2\r\n\r\n{}"


def test_the_page_shows_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    tables = importlib.import_module("tables")
    text = tables.PAGE.read_text()
    for mark, table in tables.tables(json.loads((FOLDER / "results.json").read_text())).items():
        assert text.partition(f"<!-- {mark} -->\n")[2].partition("\n\n")[0] == table


def test_an_open_loop_charges_a_stall_to_all_it_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stops for half of the time: half of the requests were late, and some by nearly all of it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    load = importlib.import_module("load")

    async def run() -> tuple[float, float, int]:
        stalled = asyncio.Event()
        timers: list[asyncio.TimerHandle] = []
        answering: list[asyncio.Task[None] | None] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            answering.append(asyncio.current_task())
            while await reader.read(4096):
                if not timers:
                    timers.append(asyncio.get_running_loop().call_later(0.3, stalled.set))
                await stalled.wait()
                writer.write(ANSWER % (201 if next(numbers) else 500))
            writer.close()
            await writer.wait_closed()

        numbers = itertools.count()
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        found = await load.open_loop(server.sockets[0].getsockname()[1], itertools.repeat(b"x"), 2, 0.6, 200.0)
        server.close()
        await asyncio.gather(*filter(None, answering))  # both ends are closed
        assert len(found.times) == 120
        return found.quantile(0.7), found.quantile(0.99), found.failures

    middle, late, failures = asyncio.run(run())
    assert middle > 0.05
    assert late > 0.25
    assert failures == 1
