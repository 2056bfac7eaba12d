"""What a round of other algorithms takes, relative to one of FedAvg, on the workload W3 (logistic regression).

    python benchmarks/algorithms.py [moon feddc ...] [--repeats 5]

The time of a step of local training in one process on one core, by gradients by hand with 32 clients at once, without
the emulation around it. Algorithms take turns; the figure is the median of the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch
from workloads import CLASSES, WORKLOADS

from edgefl.core.streams import Streams
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.datasets import Data
from edgefl.learning.learner import Learner, LearningTask
from edgefl.learning.learner.plan import Plan
from edgefl.learning.models import MODELS
from edgefl.learning.training_section import Training

CLIENTS = 32
STEPS = 50
PLAN = Plan("batched", "layers", CLIENTS)


def learner(kind: str) -> Learner:
    """Return a learner of the workload with an algorithm, which trains in this process."""
    workload = WORKLOADS["W3"]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((CLIENTS * workload.samples, *workload.shape), dtype=np.float32)
    y = rng.integers(0, CLASSES, len(x))
    training = Training(local_steps=STEPS, batch_size=workload.batch, lr=0.1, weight_decay=1e-3)
    task = LearningTask(
        MODELS.load(workload.model["kind"])(),
        ALGORITHMS.load(kind)(),
        training,
        Data(x, y, x[:10], y[:10], CLASSES),
        np.split(np.arange(len(x)), CLIENTS),
        Streams(1),
    )
    return Learner(task, "cpu", plan=PLAN, processes=0)


def step_s(of: Learner, server: dict[str, torch.Tensor], index: int) -> float:
    """Return the time of a client's step in a round."""
    received = of.task.algorithm.downlink(server)
    for device in range(CLIENTS):
        of.submit(device, index, server["w"], received)
    began_s = time.perf_counter()
    of.collect()
    return (time.perf_counter() - began_s) / (CLIENTS * STEPS)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=["moon", "fedprox", "scaffold", "feddc"])
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    learners = {kind: learner(kind) for kind in ["fedavg", *options.kinds]}
    servers = {kind: of.begin(options.repeats + 1, CLIENTS) for kind, of in learners.items()}
    times: dict[str, list[float]] = {kind: [] for kind in learners}
    for index in range(options.repeats + 1):
        for kind, of in learners.items():
            took_s = step_s(of, servers[kind], index)
            if index:  # the first round warms up
                times[kind].append(took_s)
    print("| algorithm | a step of a client | relative to FedAvg |\n|---|---|---|")
    for kind, own in times.items():
        ratio = statistics.median(one / base for one, base in zip(own, times["fedavg"], strict=True))
        print(f"| {kind} | {1e6 * statistics.median(own):.1f} us | {ratio:.2f} |")


if __name__ == "__main__":
    main()
