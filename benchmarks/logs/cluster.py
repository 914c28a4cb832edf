"""A pass over partitioned Parquet on a cluster of two nodes, one of which is lost midway: are the sums the same?

    python benchmarks/logs/cluster.py --rows 2e6

Starts a cluster of a head and two nodes with one processor each on this machine (the extra `cluster`), runs a pass,
removes a node once a third of the parts are in, and compares with the same pass run serially.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import size
from ray.cluster_utils import Cluster

from hushprice.logs.passes import run_pass
from hushprice.logs.ray_parts import RayParts
from hushprice.logs.read import open_log
from hushprice.logs.rows import LogRows

PER_FILE = 100_000


def moments(rows: LogRows) -> list[int]:
    """Whole numbers that no 64 bits hold."""
    whole = np.rint(rows.prices * 2**40).astype(np.int64)
    high, low = whole >> 20, whole & 0xFFFFF
    squares = (int((high * high).sum()) << 40) + (int((high * low).sum()) << 21) + int((low * low).sum())
    return [len(whole), int(whole.sum()), squares, int(rows.demands.sum())]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=lambda text: int(float(text)), default=2_000_000)
    given = options.parse_args()
    size.PER_FILE = PER_FILE
    with tempfile.TemporaryDirectory(prefix="hushprice-cluster-") as name:
        size.write(Path(name), given.rows)
        log = open_log(name, product=size.PRODUCT)
        expected = run_pass(log, moments, 4)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        executor, start = RayParts(cluster.address), time.perf_counter()

        def progress(done: int, parts: int) -> None:
            if nodes and done >= parts // 3:
                cluster.remove_node(nodes.pop(), allow_graceful=False)
                nodes.clear()
                print(f"after {done} of {parts} parts a node is removed")

        found = run_pass(log, moments, 4, executor=executor, progress=progress)
        seconds = time.perf_counter() - start
        by_node = sorted(executor.finished_on.values())
        print(f"{given.rows:,} rows, {log.partitions} parts, {seconds:.0f} s; parts by node {by_node}")
        print("the same sums, to the last digit" if found == expected else "OTHER SUMS")
        cluster.shutdown()


if __name__ == "__main__":
    main()
