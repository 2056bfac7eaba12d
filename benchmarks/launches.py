"""Count the kernels and copies that a GPU gets in a round, on a device without numbers: no GPU is needed.

    python benchmarks/launches.py

A round of participants with equally many samples, trained together by the engine with gradients by hand. Copies are
those between host and device; a step waits for none of them. Numbers that the host asks for are errors on this device.
The last column is the second round with `training.graphs: auto`: a replay counts as one launch.
"""

import sys
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "cases"))

import numpy as np
from fake_gpu import CUDA, CountedReplays, Launches, fake_device, task_on, trained_on

from edgefl.learning.learner.plans.plan import Plan
from edgefl.learning.learner.workers import trainer
from edgefl.learning.models import MODELS

WORKLOADS = {  # model, shape of a sample, batch size, steps
    "W1 FCN": ("fcn", (28, 28), 50, 20),
    "W2 CNN": ("cnn_mnist", (28, 28), 50, 20),
    "W3 logistic regression": ("logistic", (28, 28), 10, 50),
}
CLIENTS = (2, 10, 50)


def counted(
    name: str, shape: tuple[int, ...], batch_size: int, steps: int, clients: int, graphs: str = "off"
) -> Launches:
    """Return what a round of these clients launches."""
    samples = np.random.default_rng(0).random((clients * batch_size, *shape), dtype=np.float32)
    keys = {"sizes": [batch_size] * clients, "batch_size": batch_size, "local_steps": steps, "graphs": graphs}
    task = task_on(MODELS.load(name)(), samples, 10, **keys)
    plan = Plan("batched", "layers", clients)
    with fake_device(), patch.object(trainer, "CudaGraphs", CountedReplays):
        *_, built = trained_on(task, CUDA, plan)  # the first round makes some tensors that stay, and the record
        CountedReplays.replays = 0
        with Launches() as launches:
            trained_on(task, CUDA, plan, built=built)
    launches.kernels += CountedReplays.replays
    return launches


def main() -> None:
    """Print a row for each workload and number of clients."""
    print("| workload | steps | clients | kernels | kernels a step | copies | launches with graphs |")
    print("|---|---|---|---|---|---|---|")
    for title, (name, shape, batch_size, steps) in WORKLOADS.items():
        for clients in CLIENTS:
            launches = counted(name, shape, batch_size, steps, clients)
            replayed = counted(name, shape, batch_size, steps, clients, graphs="auto")
            a_step = launches.kernels / steps
            cells = f"{steps} | {clients} | {launches.kernels} | {a_step:.1f} | {launches.copies}"
            print(f"| {title} | {cells} | {replayed.kernels} |")


if __name__ == "__main__":
    main()
