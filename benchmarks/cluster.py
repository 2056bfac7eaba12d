"""How much faster a run is on two machines of a Ray cluster than on one.

    python benchmarks/cluster.py [--pairs 3] [--workload W2]

Machines are Ray nodes on this machine with one processor each, beside a head that trains nothing. A round's time is
that from the end of one to the end of the next, with everything that edgefl does. Both run in turn.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from ray.cluster_utils import Cluster
from workloads import WORKLOADS, Workload, scenario

import edgefl

STORE_BYTES = 2_000_000_000  # for the samples, once a machine


def round_s(workload: Workload, machines: int) -> float:
    """Return the median duration of a round on so many machines."""
    nodes = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES},
    )
    for _ in range(machines):
        nodes.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
    ends: list[float] = []
    try:
        nodes.wait_for_nodes()
        with tempfile.TemporaryDirectory() as folder:
            base = scenario(workload, Path(folder), workload.rounds + 2)
            edgefl.run(base, cluster=nodes.address, progress=lambda _: ends.append(time.perf_counter()))
    finally:
        nodes.shutdown()
    return statistics.median(np.diff(ends)[:-1].tolist())  # the last round waits for the evaluation


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--workload", default="W2", choices=list(WORKLOADS))
    options = parser.parse_args()
    workload = WORKLOADS[options.workload]
    ratios = []
    for _ in range(options.pairs):
        one, two = round_s(workload, 1), round_s(workload, 2)
        ratios.append(one / two)
        print(
            f"{workload.title}: {one:.3g} s a round on one machine, {two:.3g} s on two: {one / two:.2f} x", flush=True
        )
    print(f"median: {statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
