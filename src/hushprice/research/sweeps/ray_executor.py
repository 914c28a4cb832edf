"""Ranges of trials on a Ray cluster. The driver alone writes results; a lost node's ranges run again elsewhere."""

from __future__ import annotations

import importlib
import logging
import os
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hushprice.errors import HushpriceError, InvalidInput, NotAvailable, first_line
from hushprice.research.sweeps.block import Block
from hushprice.research.sweeps.cell import Cell, program
from hushprice.research.sweeps.executors import Advance, Ended, run_trial_range
from hushprice.research.sweeps.trial_range import Missing, TrialRange, cut
from hushprice.simulation.device import CPU, ChosenDevice
from hushprice.simulation.trial import Job

LOSSES = 20  # times a range may lose its node before the sweep gives up
AHEAD = 2  # ranges handed out for each slot, so that no slot waits for the driver
PATIENCE = 5.0  # seconds for an address to answer
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # HTTP/2 preface, empty SETTINGS
_SETTINGS = 4  # frame type any HTTP/2 server answers with


class RayExecutor:
    """A cluster at `address`; without one, the cluster this machine is part of, or a new one on this machine alone.

    Every node needs the same hushprice and libraries as the driver; a node with others is refused.
    """

    def __init__(self, address: str | None = None) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError:
            raise NotAvailable("executor 'ray' needs the extra 'cluster': pip install 'hushprice[cluster]'") from None
        self.finished_on: Counter[str] = Counter()  # ranges by node
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._connect(address or os.environ.get("RAY_ADDRESS") or None)

    @property
    def slots(self) -> int:
        """Processors the cluster has now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def chosen(self) -> ChosenDevice:
        return CPU

    def expect(self, cells: Sequence[Cell], lacks: Callable[[Cell], bool]) -> None:
        """Do nothing: a node compiles when it needs to."""

    def cut(self, missing: Missing) -> list[TrialRange]:
        return cut(missing, self.slots)

    def run(self, trial_ranges: Sequence[TrialRange], advance: Advance) -> Ended:
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=LOSSES)(_task)
        jobs = {each.cell.key: (each.cell.prepare(), each.cell.policy) for each in trial_ranges}
        sent = {key: ray.put((*job, program(job[1]))) for key, job in jobs.items()}
        waiting = list(reversed(trial_ranges))
        running: dict[Any, TrialRange] = {}
        done = 0
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * self.slots:
                    trial_range = waiting.pop()
                    key = trial_range.cell.key
                    running[task.remote(sent[key], key, trial_range.numbers)] = trial_range
                ready, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
                advance(done)
                for reference in ready:
                    trial_range = running.pop(reference)
                    node, data = self._fetch(reference, trial_range)
                    self.finished_on[node] += 1
                    done += trial_range.periods
                    advance(done)
                    yield trial_range, Block.decode(data, trial_range.cell.key)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster, unless somebody else had joined it."""
        if self._ours:
            self._ray.shutdown()

    def _connect(self, address: str | None) -> None:
        if address is not None and ":" in address:
            check_answers(address)
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            self._ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as problem:
            raise InvalidInput(f"address {address!r} is no Ray cluster to join: {first_line(problem)}") from None

    def _fetch(self, reference: Any, trial_range: TrialRange) -> tuple[str, bytes]:
        try:
            node, data = self._ray.get(reference)
            return node, data
        except self._ray.exceptions.RayTaskError as problem:
            raise problem.cause from None
        except self._ray.exceptions.RayError as problem:
            numbers = trial_range.numbers
            which = f"trials {numbers.start} to {numbers.stop - 1} of {trial_range.cell.policy!r}"
            raise HushpriceError(f"{which} could not be run on the cluster: {first_line(problem)}") from None


def check_answers(address: str) -> None:
    """Refuse an address at which no server of Ray's protocol answers; Ray itself would wait for minutes."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE) as there:
            there.sendall(_HELLO)
            answer = there.recv(9)
    except (OSError, ValueError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or first_line(problem)
        raise InvalidInput(f"address {address!r} does not answer: {why}") from None
    if len(answer) < 4 or answer[3] != _SETTINGS:
        raise InvalidInput(f"address {address!r} does not answer as a Ray cluster does")


def _task(sent: tuple[Job, str, list[str]], key: str, numbers: range) -> tuple[str, bytes]:
    """One range on a node: the node's id, and the block as bytes."""
    job, policy, expected = sent
    node = str(importlib.import_module("ray").get_runtime_context().get_node_id())
    if program(policy) != expected:
        raise InvalidInput(f"node {node} has another version of hushprice, its libraries or the policy than the driver")
    control = np.zeros(1 + len(numbers), dtype=np.int64)
    return node, run_trial_range(job, numbers, control, 1).encode(key, {})
