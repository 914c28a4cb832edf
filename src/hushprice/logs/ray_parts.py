"""Partitions on a Ray cluster. Every node must see the log's files; a lost node's parts are read elsewhere."""

from __future__ import annotations

import importlib
import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hushprice.errors import HushpriceError, InvalidInput, NotAvailable, first_line
from hushprice.logs.passes import Add, Part, part_of
from hushprice.logs.rows import Log
from hushprice.numerics.jit import source_digest

LOSSES = 20  # times that a part may lose its node before a pass gives up
_AHEAD = 2  # parts handed out for each processor


class RayParts:
    """A cluster at `address`; without one, the cluster this machine is part of, or a new one on this machine alone."""

    def __init__(self, address: str | None = None) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError:
            raise NotAvailable("executor 'ray' needs the extra 'cluster': pip install 'hushprice[cluster]'") from None
        self.finished_on: Counter[str] = Counter()  # parts by node
        if not self._ray.is_initialized():
            quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
            address = address or os.environ.get("RAY_ADDRESS") or None
            try:
                self._ray.init(address=address, **quiet)
            except (ConnectionError, RuntimeError, ValueError) as problem:
                raise InvalidInput(f"address {address!r} is no Ray cluster to join: {first_line(problem)}") from None

    def run(self, log: Log, add: Add, size: int, partitions: Sequence[int]) -> Iterator[Part]:
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=LOSSES)(_task)
        sent = ray.put((log, add, size))
        expected = version()
        waiting, running = list(reversed(partitions)), list[Any]()
        try:
            while waiting or running:
                slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
                while waiting and len(running) < _AHEAD * slots:
                    running.append(task.remote(sent, waiting.pop(), expected))
                ready, running = ray.wait(running, num_returns=1, timeout=1.0)
                for reference in ready:
                    node, part = self._fetch(reference)
                    self.finished_on[node] += 1
                    yield part
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def _fetch(self, reference: Any) -> tuple[str, Part]:
        try:
            node, part = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as problem:
            raise problem.cause from None
        except self._ray.exceptions.RayError as problem:
            raise HushpriceError(f"a part of the log could not be read on the cluster: {first_line(problem)}") from None
        return node, part


def version() -> list[str]:
    """What must be the same on every node for numbers to be the same: this package, NumPy and Polars."""
    names = ("numpy", "polars")
    return [source_digest(), *(str(importlib.import_module(name).__version__) for name in names)]


def _task(sent: tuple[Log, Add, int], partition: int, expected: list[str]) -> tuple[str, Part]:
    """One part on a node, and the node's id."""
    node = str(importlib.import_module("ray").get_runtime_context().get_node_id())
    if version() != expected:
        raise InvalidInput(f"node {node} has another version of hushprice, NumPy or Polars than the driver")
    return node, part_of(*sent, partition)
