"""Measure how much faster a run is on two machines of a Ray cluster than on one.

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
    rounds_s = np.diff(ends)[:-1]  # the last round waits for the evaluation
    return statistics.median(rounds_s.tolist())


def main() -> None:
    """Print the durations of a round on one and on two machines, and the median of their ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--workload", default="W2", choices=list(WORKLOADS))
    options = parser.parse_args()
    workload = WORKLOADS[options.workload]
    ratios = []
    for _ in range(options.pairs):
        one_s = round_s(workload, 1)
        two_s = round_s(workload, 2)
        ratio = one_s / two_s
        ratios.append(ratio)
        text = f"{one_s:.3g} s a round on one machine, {two_s:.3g} s on two: {ratio:.2f} x"
        print(f"{workload.title}: {text}", flush=True)
    print(f"median: {statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
