"""A fit of partitioned Parquet on a cluster of two nodes, one of which is lost midway: is it the same release?

    python benchmarks/logs/cluster.py --rows 2e6

Starts a cluster of a head and two nodes with one processor each on this machine (the extras `cluster` and `research`),
fits, kills a node in the middle of the third pass, and compares with the same fit made serially. Both have the same
simulated noise, since noise of their own would hide what is compared.
"""

from __future__ import annotations

import argparse
import functools
import tempfile
import time
from pathlib import Path
from typing import Any

import ray
import size
from ray.cluster_utils import Cluster

import hushprice
from hushprice.logs.passes import run_pass
from hushprice.logs.ray_parts import RayParts
from hushprice.logs.read import open_log

PER_FILE = 100_000
KILLED = 2.5  # passes after which a node is lost
FIT: dict[str, Any] = {"product": size.PRODUCT, "epsilon": 1.0, "seed": 1, "simulation": True}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=lambda text: int(float(text)), default=2_000_000)
    given = options.parse_args()
    size.PER_FILE = PER_FILE
    with tempfile.TemporaryDirectory(prefix="hushprice-cluster-") as name:
        size.write(Path(name), given.rows)
        log = open_log(name, product=size.PRODUCT, columns={"customer": ""})
        start = time.perf_counter()
        expected = hushprice.fit(log, **FIT)
        print(f"serially {time.perf_counter() - start:.0f} s")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        executor, start = RayParts(cluster.address), time.perf_counter()

        def progress(done: int, parts: int) -> None:
            if len(nodes) == 2 and done >= KILLED * log.partitions:
                cluster.remove_node(nodes.pop(), allow_graceful=False)
                print(f"after {done} of {parts} parts of all passes a node is killed")

        found = hushprice.fit(log, **FIT, run=functools.partial(run_pass, executor=executor), progress=progress)
        by_node = sorted(executor.finished_on.values())
        print(f"{given.rows:,} rows, {log.partitions} parts, {len(found.releases)} passes; parts by node {by_node}")
        print(f"on the cluster {time.perf_counter() - start:.0f} s")
        same = (found.releases, found.theta, found.covariance) == (
            expected.releases,
            expected.theta,
            expected.covariance,
        )
        print("the same release, to the last digit" if same else "ANOTHER RELEASE")
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
