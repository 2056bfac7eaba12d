"""What each fast path of the learner on a CPU is worth: seconds of a round without it, over seconds with it.

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
from typing import Any

import numpy as np
from workloads import CLASSES, WORKLOADS, synthetic

PLANS = {"W1": ("layers", 2), "W2": ("layers", 1), "W3": ("layers", 32)}
ROUNDS = {"W1": 6, "W2": 2, "W3": 20}


def as_is() -> None:
    """Nothing changed."""


def without_channels_last() -> None:
    """Images with their channels last."""
    from edgefl.learning.learner.layers_gradient import LayersGradient

    LayersGradient._entry = lambda _, x: x  # type: ignore[method-assign]  # noqa: SLF001


def without_keeping_memory() -> None:
    """Malloc that keeps its memory."""
    from edgefl.learning.learner import workers

    workers.keep_memory = lambda: None


def with_threads() -> None:
    """Processes: the same workers as threads of one process."""
    from edgefl.learning.learner import learner, workers

    original = workers.TrainingWorkers
    learner.TrainingWorkers = lambda trainers, count: original(list(trainers) * count, 0)  # type: ignore[assignment,misc]


def one_by_one() -> None:
    """Cohorts: one client at a time."""
    PLANS.update({name: (kernel, 1) for name, (kernel, _) in PLANS.items()})


def by_autograd() -> None:
    """Gradients by hand: autograd, one client at a time."""
    PLANS.update(dict.fromkeys(PLANS, ("autograd", 1)))


VARIANTS: dict[str, tuple[Callable[[], None], list[str]]] = {
    "gradients by hand": (by_autograd, ["W1", "W2", "W3"]),
    "several clients at once": (one_by_one, ["W1", "W3"]),
    "processes instead of threads": (with_threads, ["W1", "W2", "W3"]),
    "malloc that keeps its memory": (without_keeping_memory, ["W1", "W2"]),
    "channels last": (without_channels_last, ["W2"]),
}


def round_s(name: str, change: Callable[[], None]) -> float:
    """Median seconds of training one round's participants."""
    from edgefl.core.streams import Streams
    from edgefl.learning.algorithms.fedavg import FedAvg
    from edgefl.learning.datasets import Data
    from edgefl.learning.learner import Learner, LearningTask
    from edgefl.learning.learner.plan import Plan
    from edgefl.learning.models import MODELS
    from edgefl.learning.training_section import Training

    change()
    workload = WORKLOADS[name]
    x, y = synthetic(workload)
    data = Data(x, y, x[:10], y[:10], CLASSES)
    parts = np.split(np.arange(len(x)), workload.clients)
    section = Training.model_validate({**workload.work, "batch_size": workload.batch, "lr": 0.1, "weight_decay": 1e-3})
    kernel, width = PLANS[name]
    plan = Plan("serial" if kernel == "autograd" else "batched", kernel, width)  # type: ignore[arg-type]
    model = MODELS.load(workload.model["kind"])()
    learner = Learner(LearningTask(model, FedAvg(), section, data, parts, Streams(1)), "cpu", plan=plan)
    seconds = []
    for index in range(ROUNDS[name] + 1):
        began = time.perf_counter()
        for device in range(workload.participants):
            learner.submit(device, index, learner.initial, {})
        learner.collect()
        seconds.append(time.perf_counter() - began)
    learner.close()
    return statistics.median(seconds[1:])


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, variant = options.one
        print(json.dumps(round_s(name, VARIANTS[variant][0] if variant in VARIANTS else as_is)))
        return

    def measured(*one: str) -> Any:
        command = [sys.executable, __file__, "--one", *one]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    print("| without | W1 | W2 | W3 |\n|---|---|---|---|")
    for variant, (_, names) in VARIANTS.items():
        cells = dict.fromkeys(WORKLOADS, "-")
        for name in names:
            pairs = [(measured(name, variant), measured(name, "as is")) for _ in range(options.repeats)]
            cells[name] = f"{statistics.median(without / with_it for without, with_it in pairs):.2f}"
        print(f"| {variant} | {cells['W1']} | {cells['W2']} | {cells['W3']} |", flush=True)


if __name__ == "__main__":
    main()
