"""The learner's process, a child of the one that quotes: started again when it fails, and ended with its parent.

Not for ever: a process that dies of what it learns tells something with every death, and draws noise again after it. So
starts are bounded, and beyond that a person decides (docs/proofs/operation.md, section 7).

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
from collections import deque

import msgspec

from hushprice.service.shared.child_settings import STORE_AWAY, ChildSettings, encode
from hushprice.service.shared.config import ServiceSettings

log = logging.getLogger("hushprice.service")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds before a failed child is started again
_HEALTHY = 60.0  # seconds after which a child counts as well, and the next pause is short again
_FAREWELL = 8.0  # seconds a child has to end
RESTARTS = 10  # of a child that died, within any
DAY = 86_400.0  # seconds


class RestartAllowance:
    """How often a child may be started again.

    Of one life of the service, and not kept beyond it: to start the service is a person's decision already.
    """

    def __init__(self) -> None:
        self._taken: deque[float] = deque()

    def take(self, now: float) -> bool:
        """Is one more restart within bounds? Then it is taken.

        >>> allowance = RestartAllowance()
        >>> [allowance.take(float(n)) for n in range(RESTARTS + 1)].count(True), allowance.take(DAY)
        (10, True)
        """
        while self._taken and now - self._taken[0] >= DAY:
            self._taken.popleft()
        if len(self._taken) >= RESTARTS:
            return False
        self._taken.append(now)
        return True


_STAYS_DOWN = (
    "the learner's process ended with code %s and stays down, after %d restarts within a day: prices stay as they are. "
    "Find out why it ends, then restart the service"
)


class LearnerProcess:
    """Keeps a learner's process running."""

    def __init__(
        self, settings: ServiceSettings, listening: socket.socket, ending: asyncio.Event | None = None
    ) -> None:
        self._ending = ending or asyncio.Event()  # set once this process was told to end
        self._child = ChildSettings(settings, listening.fileno())
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._allowance = RestartAllowance()
        self.restarts = 0  # since the service started, of a child that died
        self.running = False
        self.stopped = False  # has it died too often, and is not started again?

    def start(self) -> None:
        """Start the process, and start it again where it dies."""
        self._task = asyncio.create_task(self._keep_running())

    async def _keep_running(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            began = time.monotonic()
            code = await self._run()
            self.running = False
            if self._ending.is_set():  # a signal to the whole group, such as Ctrl-C, ends the child by itself
                return
            if time.monotonic() - began > _HEALTHY:
                pause = _FIRST_PAUSE
            if code == STORE_AWAY:  # it has read nothing yet, so that this tells nothing
                log.warning("the learner finds no store; starting it again in %g s", pause)
            elif self._allowance.take(time.monotonic()):
                self.restarts += 1
                log.error("the learner's process ended with code %s; starting it again in %g s", code, pause)
            else:
                self.stopped = True
                log.error(_STAYS_DOWN, code, RESTARTS)
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run(self) -> int:
        assert self._child.listening is not None
        child = msgspec.structs.replace(self._child, again=self._process is not None)
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "hushprice.service.learning.child",
            stdin=asyncio.subprocess.PIPE,
            pass_fds=[self._child.listening],
        )
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(encode(child))
            await process.stdin.drain()
        self.running = True
        return await process.wait()

    def report(self, clipped: dict[str, int], record_answers: dict[str, int]) -> None:
        """Hand on what only this process can count, for the operator's port."""
        process = self._process
        if self.running and process is not None and process.stdin is not None and not process.stdin.is_closing():
            told = {"clipped": clipped, "record_answers": record_answers}
            process.stdin.write(msgspec.json.encode(told) + b"\n")

    async def stop(self) -> bool:
        """Close the pipe and wait; returns whether it ended by itself.

        A child that does not is killed: it loses nothing that was released.
        """
        if self._task is not None:
            self._task.cancel()
        process = self._process
        if process is None or process.returncode is not None:
            return True
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _FAREWELL)
        except TimeoutError:
            log.error("the learner's process does not end, and is killed")
            process.kill()
            await process.wait()
            return False
        return True
