"""The learner's process, a child of the one that quotes: started again when it fails, and ended with its parent.

The child reads its settings from a pipe and then watches it. When this process ends, in whatever way, the pipe closes,
and the child ends too: a learner without a quoter would go on with nobody to see it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
import time

import msgspec

from hushprice.service.shared.child_settings import ChildSettings, encode
from hushprice.service.shared.config import Settings

log = logging.getLogger("hushprice.service")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds before a failed child is started again
_HEALTHY = 60.0  # seconds after which a child counts as well, and the next pause is short again
_FAREWELL = 15.0  # seconds a child has to end


class LearnerProcess:
    """Keeps a learner's process running."""

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self._child = ChildSettings(settings, listening.fileno())
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self.running = False

    def start(self) -> None:
        """Start it, and keep it."""
        self._task = asyncio.create_task(self._keep_running())

    async def _keep_running(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            began = time.monotonic()
            code = await self._run()
            self.running = False
            if time.monotonic() - began > _HEALTHY:
                pause = _FIRST_PAUSE
            log.error("the learner's process ended with code %s; starting it again in %g s", code, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run(self) -> int:
        assert self._child.listening is not None
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "hushprice.service.learning.child",
            stdin=asyncio.subprocess.PIPE,
            pass_fds=[self._child.listening],
        )
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(encode(self._child))
            await process.stdin.drain()
        self.running = True
        return await process.wait()

    def report(self, clipped: dict[str, int], record_answers: dict[str, int]) -> None:
        """Hand on what only this process can count, for the operator's port."""
        process = self._process
        if self.running and process is not None and process.stdin is not None and not process.stdin.is_closing():
            told = {"clipped": clipped, "record_answers": record_answers}
            process.stdin.write(msgspec.json.encode(told) + b"\n")

    async def stop(self) -> None:
        """Close the pipe and wait; a child that does not end is killed: it loses nothing that was released."""
        if self._task is not None:
            self._task.cancel()
        process = self._process
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _FAREWELL)
        except TimeoutError:
            process.kill()
            await process.wait()
