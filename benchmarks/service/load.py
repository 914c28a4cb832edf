"""A small load tool: keep-alive connections of one process, on raw sockets, either closed loop or open loop.

Closed loop: every connection asks again as soon as it has its answer, which gives the highest rate. Open loop: requests
are due at fixed times whether or not the server keeps up, and each one's time counts from when it was due. A server
that stalls is then charged for all who would have come meanwhile, not only for those who were let in.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

_clock = time.perf_counter
_TICK = 0.001  # seconds between two looks at the time table of an open loop


@dataclass
class Slice:
    """What one stretch of load gave."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)  # seconds, one an answer
    failures: int = 0  # answers that are not 2xx, connections that broke, requests without an answer
    bodies: list[bytes] = field(default_factory=list)  # where they were asked for

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def quantile(self, share: float) -> float:
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def request(path: str, body: bytes, key: str) -> bytes:
    """A POST as bytes."""
    head = f"POST {path} HTTP/1.1\r\nhost: load\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self, result: Slice, done: Callable[[_Connection], None], keep: bool) -> None:
        self._result = result
        self._done = done
        self._keep = keep
        self._rest = b""
        self.due = 0.0
        self.busy = False
        self.closing = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.closing:
            self._result.failures += 1

    def ask(self, wire: bytes, due: float) -> None:
        self.due = due
        self.busy = True
        self._transport.write(wire)

    def close(self) -> None:
        self.closing = True
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        head = data.find(b"\r\n\r\n")
        place = data.find(b"content-length: ")
        if head < 0 or len(data) < head + 4 + int(data[place + 16 : data.index(b"\r", place)]):
            self._rest = data
            return
        self._rest = b""
        self.busy = False
        result = self._result
        result.times.append(_clock() - self.due)
        if data[9:10] != b"2":
            result.failures += 1
        elif self._keep:
            result.bodies.append(data[head + 4 :])
        self._done(self)


async def closed(
    port: int, wires: Iterator[bytes], connections: int, seconds: float, *, keep: bool = False, most: int = 2**62
) -> Slice:
    """Ask and ask again, until the time is over or `most` requests were sent."""
    result = Slice()
    end = _clock() + 3600.0
    sent = 0

    def again(connection: _Connection) -> None:
        nonlocal sent
        now = _clock()
        if now < end and sent < most:
            sent += 1
            connection.ask(next(wires), now)

    opened = await _open(port, connections, lambda: _Connection(result, again, keep))
    with _NoCollector():
        began = _clock()
        end = began + seconds
        for connection in opened:
            again(connection)
        while any(each.busy for each in opened) and _clock() < end + 20.0:
            await asyncio.sleep(0.01)
        result.seconds = min(_clock(), end) - began
    _close(opened, result)
    return result


async def open_loop(port: int, wires: Iterator[bytes], connections: int, seconds: float, rate: float) -> Slice:
    """`rate` requests a second, due at equal distances; those without a free connection wait, and their time runs."""
    result = Slice()
    late: deque[float] = deque()
    idle: deque[_Connection] = deque()  # in turns: one that never asked is the first that a full server closes

    def freed(connection: _Connection) -> None:
        if late:
            connection.ask(next(wires), late.popleft())
        else:
            idle.append(connection)

    opened = await _open(port, connections, lambda: _Connection(result, freed, False))
    idle.extend(opened)
    with _NoCollector():
        began = _clock()
        total, given = int(rate * seconds), 0
        while given < total:
            now = _clock()
            while given < total and (due := began + given / rate) <= now:
                given += 1
                if idle:
                    idle.popleft().ask(next(wires), due)
                else:
                    late.append(due)
            await asyncio.sleep(_TICK)
        while any(each.busy for each in opened) and _clock() < began + seconds + 20.0:
            await asyncio.sleep(0.01)
    result.seconds = seconds
    result.failures += len(late)
    _close(opened, result)
    return result


async def _open(port: int, connections: int, made: Callable[[], _Connection]) -> list[_Connection]:
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(made, "127.0.0.1", port))[1] for _ in range(connections)]


def _close(opened: list[_Connection], result: Slice) -> None:
    for each in opened:
        result.failures += each.busy
        each.close()


class _NoCollector:
    """The tool's own pauses are not the server's."""

    def __enter__(self) -> None:
        gc.collect()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.enable()
