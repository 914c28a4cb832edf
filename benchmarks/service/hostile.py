"""A thousand connections that mean no good, without a key: python benchmarks/service/hostile.py PORT COUNT

Each plays one part, and comes again about a second after it was ended. Told to stop, it prints how often they came and
how often they were ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import uvloop

_PAUSE = 1.0  # seconds between two bytes that drip, and before coming again
_BLOCK = 65536


@dataclass(frozen=True)
class Part:
    """What is sent at once, what drips, what is sent without end; and is an answer read?"""

    start: bytes = b""
    drip: bytes = b""
    endless: bytes = b""
    reads: bool = True


PARTS = {
    "idle": Part(),
    "asked once, then idle": Part(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"),
    "half a head": Part(b"POST /v1/quotes HTTP/1.1\r\nhost: x\r\nx-half: "),
    "head drips": Part(b"POST /v1/quotes HTTP/1.1\r\nhost: x\r\nx-slow: ", drip=b"a"),
    "body drips": Part(b"POST /v1/quotes HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n", drip=b" "),
    "endless header": Part(b"GET / HTTP/1.1\r\nx-long: ", endless=b"a"),
    "endless lines": Part(b"GET / HTTP/1.1\r\n", endless=b"x: a\r\n"),
    "pipelined, unread": Part(endless=b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n", reads=False),
}


class Hostile(asyncio.Protocol):
    """One connection."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._block = part.endless * (_BLOCK // len(part.endless)) if part.endless else b""
        self._blocked = False
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        if not self._part.reads:
            transport.pause_reading()
        transport.write(self._part.start)
        self._send()

    def _send(self) -> None:
        loop = asyncio.get_running_loop()
        if self.ended.done() or self._transport.is_closing():
            return
        with contextlib.suppress(RuntimeError):  # it was just ended
            if self._part.drip:
                self._transport.write(self._part.drip)
                loop.call_later(_PAUSE, self._send)
            elif self._block and not self._blocked:
                self._transport.write(self._block)
                loop.call_later(0.001, self._send)

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        self._send()

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


async def play(port: int, name: str, counted: Counter[str]) -> None:
    """Come, stay until ended, and come again."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            _, made = await loop.create_connection(lambda: Hostile(PARTS[name]), "127.0.0.1", port)
            counted[f"came: {name}"] += 1
            await made.ended
            counted[f"ended: {name}"] += 1
        except OSError:
            counted["not let in"] += 1
        await asyncio.sleep(random.uniform(0.5, 1.5) * _PAUSE)


async def main(port: int, count: int) -> None:
    counted: Counter[str] = Counter()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    tasks = []
    for number, name in enumerate(islice(cycle(PARTS), count)):
        tasks.append(asyncio.create_task(play(port, name, counted)))
        if number % 20 == 0:
            await asyncio.sleep(0.02)  # a second for all to come
    print("all came", flush=True)
    await stop.wait()
    for each in tasks:
        each.cancel()
    print(dict(sorted(counted.items())), flush=True)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), int(sys.argv[2])))
