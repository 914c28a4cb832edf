"""Honest quotes beside a thousand hostile connections, and without them: the same load in turns, in one run."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import running
from load import Slice, open_loop
from running import Running

HERE = Path(__file__).resolve().parent
HOSTILE = 1000
RATE = 500.0  # honest quotes a second
CONNECTIONS = 16
Row = dict[str, Any]


@contextmanager
def hostile(port: int) -> Iterator[None]:
    """Hostile connections, from a process of their own. It gives way: real ones would be on other machines."""
    command = ["nice", "-n", "19", sys.executable, str(HERE / "hostile.py"), str(port), str(HOSTILE)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        print(process.communicate(timeout=30)[0].strip(), flush=True)


async def besieged(server: Running, rounds: int, seconds: float) -> Row:
    """Rounds of a calm stretch and one under siege; a ratio is the median over rounds."""
    calm: list[Slice] = []
    beside: list[Slice] = []
    memory: list[tuple[float, float]] = []
    cpu = {"calm": 0.0, "beside": 0.0}
    began = time.perf_counter()

    async def honest(kept: list[Slice], when: str) -> None:
        before = server.cpu_seconds()
        kept.append(await open_loop(server.port, running.wires(server), CONNECTIONS, seconds, RATE))
        cpu[when] += server.cpu_seconds() - before

    await honest([], "calm")  # caches fill first
    cpu["calm"] = 0.0
    for _ in range(rounds):
        await honest(calm, "calm")
        with hostile(server.port):
            for _ in range(2):  # in the second the first to be ended have come again
                await honest(beside, "beside")
                memory.append(((time.perf_counter() - began) / 60.0, _resident(server.process.pid)))
        await asyncio.sleep(3.0)
    row = _row(rounds, calm, beside, memory)
    row["cpu_share"] = {"calm": cpu["calm"] / (rounds * seconds), "beside": cpu["beside"] / (2 * rounds * seconds)}
    print(f"siege: {row}", flush=True)
    return row


def _row(rounds: int, calm: list[Slice], beside: list[Slice], memory: list[tuple[float, float]]) -> Row:
    pairs = [(calm[index // 2], each) for index, each in enumerate(beside)]
    times, sizes = zip(*memory, strict=True)
    return {
        "hostile": HOSTILE,
        "rounds": rounds,
        "rate": RATE,
        "answers": sum(len(each.times) for each in beside),
        "failures": sum(each.failures for each in (*calm, *beside)),
        "calm_p99_ms": 1e3 * median(each.quantile(0.99) for each in calm),
        "beside_p99_ms": 1e3 * median(each.quantile(0.99) for each in beside),
        "p99_ratio": median(each.quantile(0.99) / before.quantile(0.99) for before, each in pairs),
        "mib": list(sizes),
        "mib_a_minute": float(np.polyfit(times, sizes, 1)[0]),
    }


def _resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2.0**20
