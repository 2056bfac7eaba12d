"""Measure a round of other algorithms relative to one of FedAvg, on the workload W3 (logistic regression).

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

from edgefl.core.machine import one_numpy_thread
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.datasets import Data
from edgefl.learning.learner import Learner, LearningTask
from edgefl.learning.learner.plans.plan import Plan
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
    model = MODELS.load(workload.model["kind"])()
    algorithm = ALGORITHMS.load(kind)()
    data = Data(x, y, x[:10], y[:10], CLASSES)
    parts = np.split(np.arange(len(x)), CLIENTS)
    task = LearningTask(model, algorithm, training, data, parts, Streams(1))
    return Learner(task=task, device="cpu", plan=PLAN, processes=0)


def step_s(measured: Learner, server: dict[str, torch.Tensor], index: int) -> float:
    """Return the time of a client's step in a round."""
    received = measured.task.algorithm.downlink(server)
    for device in range(CLIENTS):
        measured.submit(device, index, server["w"], received)
    began_s = time.perf_counter()
    measured.collect()
    return (time.perf_counter() - began_s) / (CLIENTS * STEPS)


def main() -> None:
    """Print a row for each algorithm."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=["moon", "fedprox", "scaffold", "feddc"])
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rounds = options.repeats + 1
    learners = {}
    servers = {}
    times: dict[str, list[float]] = {}
    for kind in ["fedavg", *options.kinds]:
        learners[kind] = learner(kind)
        servers[kind] = learners[kind].begin(rounds, CLIENTS)
        times[kind] = []
    with one_numpy_thread():  # as a run has it
        for index in range(rounds):
            for kind, measured in learners.items():
                took_s = step_s(measured, servers[kind], index)
                if index:  # the first round warms up
                    times[kind].append(took_s)
    print("| algorithm | a step of a client | relative to FedAvg |")
    print("|---|---|---|")
    for kind, own in times.items():
        ratios = [one / base for one, base in zip(own, times["fedavg"], strict=True)]
        step_us = 1e6 * statistics.median(own)
        print(f"| {kind} | {step_us:.1f} us | {statistics.median(ratios):.2f} |")


if __name__ == "__main__":
    main()
