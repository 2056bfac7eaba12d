"""Measure what each fast path of the learner on a CPU is worth: seconds of a round without it, over those with it.

    python benchmarks/paths.py [--repeats 3]

Each variant runs in a process of its own, in turn with the learner as it is; medians of the ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from workloads import CLASSES, WORKLOADS, synthetic

from edgefl.core.machine import one_numpy_thread

PLANS = {"W1": ("layers", 4), "W2": ("layers", 1), "W3": ("layers", 32)}
ROUNDS = {"W1": 6, "W2": 2, "W3": 20}


def as_is() -> None:
    """Change nothing."""


def without_channels_last() -> None:
    """Keep images as they come, their channels first."""
    from edgefl.learning.learner.kernels.layers_gradient import LayersGradient

    LayersGradient._entry = lambda _, x: x  # type: ignore[method-assign]  # noqa: SLF001


def without_keeping_memory() -> None:
    """Let malloc give its memory back."""
    from edgefl.learning.learner.workers import serving

    serving.keep_memory = lambda: None


def with_threads() -> None:
    """Run the same workers as threads of one process."""
    from edgefl.learning.learner import learner
    from edgefl.learning.learner.workers import processes

    original = processes.TrainingWorkers
    learner.TrainingWorkers = lambda trainers, count, **_: original(list(trainers) * count, 0)  # type: ignore[assignment,misc]


def one_by_one() -> None:
    """Train one client at a time."""
    for name, (kernel, _) in PLANS.items():
        PLANS[name] = (kernel, 1)


def by_autograd() -> None:
    """Train by autograd, one client at a time."""
    for name in PLANS:
        PLANS[name] = ("autograd", 1)


VARIANTS: dict[str, tuple[Callable[[], None], list[str]]] = {
    "gradients by hand": (by_autograd, ["W1", "W2", "W3"]),
    "several clients at once": (one_by_one, ["W1", "W3"]),
    "processes instead of threads": (with_threads, ["W1", "W2", "W3"]),
    "malloc that keeps its memory": (without_keeping_memory, ["W1", "W2"]),
    "channels last": (without_channels_last, ["W2"]),
}


def round_s(name: str, change: Callable[[], None]) -> float:
    """Return the median seconds of training one round's participants."""
    from edgefl.core.streams import Streams
    from edgefl.learning.algorithms.fedavg import FedAvg
    from edgefl.learning.datasets import Data
    from edgefl.learning.learner import Learner, LearningTask
    from edgefl.learning.learner.plans.plan import Plan
    from edgefl.learning.models import MODELS
    from edgefl.learning.training_section import Training

    change()
    workload = WORKLOADS[name]
    x, y = synthetic(workload)
    data = Data(x, y, x[:10], y[:10], CLASSES)
    parts = np.split(np.arange(len(x)), workload.clients)
    section = Training.model_validate({**workload.work, "batch_size": workload.batch, "lr": 0.1, "weight_decay": 1e-3})
    kernel, width = PLANS[name]
    engine = "batched"
    if kernel == "autograd":
        engine = "serial"
    plan = Plan(engine, kernel, width)  # type: ignore[arg-type]
    model = MODELS.load(workload.model["kind"])()
    task = LearningTask(model, FedAvg(), section, data, parts, Streams(1))
    learner = Learner(task=task, device="cpu", plan=plan)
    seconds = []
    for index in range(ROUNDS[name] + 1):
        began = time.perf_counter()
        for device in range(workload.participants):
            learner.submit(device, index, learner.initial, {})
        learner.collect()
        seconds.append(time.perf_counter() - began)
    learner.close()
    return statistics.median(seconds[1:])


def measured(name: str, variant: str) -> float:
    """Return the seconds of a round of a workload, from a process of its own."""
    command = [sys.executable, __file__, "--one", name, variant]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(output))


def main() -> None:
    """Print a row for each fast path."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, variant = options.one
        change = as_is
        if variant in VARIANTS:
            change, _ = VARIANTS[variant]
        with one_numpy_thread():  # as a run has it
            print(json.dumps(round_s(name, change)))
        return
    print("| without | W1 | W2 | W3 |\n|---|---|---|---|")
    for variant, (_, names) in VARIANTS.items():
        cells = dict.fromkeys(WORKLOADS, "-")
        for name in names:
            ratios = []
            for _ in range(options.repeats):
                without_s = measured(name, variant)
                with_s = measured(name, "as is")
                ratios.append(without_s / with_s)
            cells[name] = f"{statistics.median(ratios):.2f}"
        print(f"| {variant} | {cells['W1']} | {cells['W2']} | {cells['W3']} |", flush=True)


if __name__ == "__main__":
    main()
