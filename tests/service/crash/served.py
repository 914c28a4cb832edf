"""`hushprice serve` in processes of its own, to be killed: one SQLite file, or a quoter and a learner on PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.ports import free_ports
from tests.service.conftest import PostgresProcess, as_quoter
from tests.service.crash.lines import Line, Unanswered
from tests.waiting import PATIENCE, eventually

from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore

COMMAND = (sys.executable, "-c", "from hushprice.cli import main; main()")
_PAUSE = 0.02


class Served:
    """A service in a folder, on ports of its own that stay the same over restarts."""

    kinds: tuple[str, ...] = ()  # of crashes

    def __init__(self, folder: Path, uri: str, command: tuple[str, ...] = COMMAND) -> None:
        self.folder, self.uri = folder, uri
        self.port, self._operator_port = free_ports(2)
        self._command = command
        self._log = open(folder / "log.txt", "ab")  # noqa: SIM115 - closed in `close`

    def start(self) -> float:
        """Start everything; returns the seconds until it is ready."""
        raise NotImplementedError

    def crash(self, kind: str) -> None:
        """Kill something; then `recover` starts it again, and returns the seconds until all is ready."""
        raise NotImplementedError

    def recover(self, kind: str) -> float:
        raise NotImplementedError

    def end(self) -> None:
        """End it as an operator would."""
        raise NotImplementedError

    def log(self) -> str:
        return (self.folder / "log.txt").read_text()

    def line(self, role: str | None = None) -> Line:
        return Line(self.port, None if role is None else self._key(role))

    @property
    def _keys_file(self) -> Path:
        raise NotImplementedError

    def _key(self, role: str) -> str:
        return str(tomllib.loads(self._keys_file.read_text())["keys"][role])

    def _spawn(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._command, "serve", *words],
            cwd=self.folder,
            stdout=self._log,
            stderr=self._log,
            env={
                **os.environ,
                "HUSHPRICE_RATE_PER_SECOND": "1e6",
                "HUSHPRICE_STATE_DIR": str(self.folder),
                **environment,
            },
        )

    def answers(self, port: int, path: str) -> bool:
        line = Line(port)
        try:
            return line.call("GET", path)[0] == 200
        except Unanswered:
            return False
        finally:
            line.close()

    def _until_ready(self, began: float, *processes: subprocess.Popen[bytes]) -> float:
        """Ready is what the service says; who kills again waits for the learner, too, which may start under a lease."""
        self._until(self.port, "/readyz/learning", processes)
        took = time.monotonic() - began
        self._until(self._operator_port, "/healthz", processes)
        return took

    def _until(self, port: int, path: str, processes: tuple[subprocess.Popen[bytes], ...]) -> None:
        until = time.monotonic() + PATIENCE
        while not self.answers(port, path):
            assert all(each.poll() is None for each in processes), f"the service ended: {self.log()[-2000:]}"
            assert time.monotonic() < until, self.log()[-2000:]
            time.sleep(_PAUSE)

    def _numbers(self) -> list[int]:
        """Of the processes that run."""
        raise NotImplementedError

    def processor_seconds(self) -> float:
        """What the service has used since its processes were started."""
        return sum(_processor_seconds(number) for number in self._numbers())

    @contextlib.contextmanager
    def store(self) -> Iterator[LearnerStore]:
        """The store, for a look from outside."""
        store = open_store(self.uri, "learner")
        try:
            yield store
        finally:
            store.close()

    def close(self) -> None:
        self._log.close()


class OnSqlite(Served):
    """Role all: the process that quotes, and its child that learns."""

    kinds = ("parent", "learner", "both")

    def __init__(self, folder: Path, command: tuple[str, ...] = COMMAND) -> None:
        super().__init__(folder, str(folder / "shop.db"), command)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _keys_file(self) -> Path:
        return self.folder / "shop.db.keys.toml"

    def begin(self) -> subprocess.Popen[bytes]:
        """Start it, and wait for nothing."""
        words = ("--store", "shop.db", "--port", str(self.port), "--operator-port", str(self._operator_port))
        self._process = self._spawn(*words)
        return self._process

    def start(self) -> float:
        began = time.monotonic()
        return self._until_ready(began, self.begin())

    def learner(self) -> int | None:
        """The child's process id."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def _numbers(self) -> list[int]:
        if self._process is None or self._process.poll() is not None:
            return []
        child = self.learner()
        return [self._process.pid, *([] if child is None else [child])]

    def crash(self, kind: str) -> None:
        assert self._process is not None
        child = self.learner()
        if kind in ("parent", "both"):
            self._process.kill()
        if kind in ("learner", "both") and child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            eventually(lambda: _has_ended(child))  # not at its last write, while somebody puts a backup back
        self._killed = child
        if kind != "learner":
            self._process.wait()

    def recover(self, kind: str) -> float:
        if kind != "learner":
            return self.start()
        assert self._process is not None
        began = time.monotonic()
        eventually(lambda: self.learner() not in (None, self._killed))
        return self._until_ready(began, self._process)

    def end(self) -> None:
        if self._process is not None:
            _end(self._process)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        super().close()


class OnPostgres(Served):
    """A process that quotes, with the quoters' role, and one that learns; the database itself may crash, too."""

    kinds = ("quoter", "learner", "both", "database")

    def __init__(self, folder: Path, uri: str, database: PostgresProcess) -> None:
        super().__init__(folder, uri)
        self._database = database
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def _keys_file(self) -> Path:
        return self.folder / "hushprice.keys.toml"

    def start(self) -> float:
        began = time.monotonic()
        self._processes.clear()
        if not self._keys_file.exists():  # a quoter's role cannot make keys
            self._start("learner")
            eventually(self._keys_file.exists)
            eventually(lambda: "learning" in self.log())
            self._start("quoter")
        else:  # docs/proofs/operation.md: after a restored backup quoters come first
            self._start("quoter")
            self._until(self.port, "/healthz", tuple(self._processes.values()))
            self._start("learner")
        return self._until_ready(began, *self._processes.values())

    def _start(self, role: str) -> None:
        uri = as_quoter(self.uri) if role == "quoter" else self.uri
        ports = ("--port", str(self.port), "--operator-port", str(self._operator_port))
        self._processes[role] = self._spawn("--role", role, *ports, HUSHPRICE_STORE=uri)

    def _numbers(self) -> list[int]:
        return [process.pid for process in self._processes.values() if process.poll() is None]

    def crash(self, kind: str) -> None:
        if kind == "database":
            self._database.stop("immediate")
        for role in _roles(kind):
            self._processes[role].kill()
        for role in _roles(kind):
            self._processes[role].wait()

    def recover(self, kind: str) -> float:
        began = time.monotonic()
        if kind == "database":
            self._database.start()
        for role in _roles(kind):
            self._start(role)
        return self._until_ready(began, *self._processes.values())

    def end(self) -> None:
        for process in self._processes.values():
            _end(process)

    def close(self) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        super().close()


def _roles(kind: str) -> tuple[str, ...]:
    return {"both": ("learner", "quoter"), "database": ()}.get(kind, (kind,))


def _processor_seconds(number: int) -> float:
    fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


def _has_ended(number: int) -> bool:
    """Is the process gone? One that nobody has asked for its code does nothing any more, either."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] in ("Z", "X")
    except OSError:
        return True
