"""The workloads of the learner's benchmarks, as edgefl scenarios and as a bare PyTorch loop.

Synthetic standard-normal inputs, labels of a fixed linear teacher, float32, SGD lr 0.1, weight decay 1e-3,
sample-weighted FedAvg, no evaluation in the timed rounds. benchmarks/gpu.py can take the images of CIFAR-10 instead.

    python benchmarks/workloads.py bare W1 --rounds 8 [--device cuda]
    python benchmarks/workloads.py edgefl W1 --rounds 8 [--device cuda] [--precision bfloat16]

Each prints one line of JSON: seconds of each round but the first.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = 10


@dataclass(frozen=True)
class Workload:
    """The model that is trained, by how many clients, and how long."""

    title: str
    model: dict[str, Any]
    shape: tuple[int, ...]
    clients: int
    samples: int  # of a client
    participants: int
    batch: int
    work: dict[str, int]  # local_epochs or local_steps
    rounds: int = 8  # timed ones
    layers: list[Any] = field(default_factory=list)
    classes: int = CLASSES
    real: bool = False  # the images of CIFAR-10, from the beginning again where they are too few

    @property
    def steps(self) -> int:
        """Return the steps of a client in a round."""
        if "local_steps" in self.work:
            return self.work["local_steps"]
        return self.work["local_epochs"] * math.ceil(self.samples / self.batch)


WORKLOADS = {
    "W1": Workload(
        "FCN 784-200-200-10, 15 of 100 clients x 60 steps of 50", {"kind": "fcn"}, (28, 28), 100, 600, 15, 50,
        {"local_epochs": 5}, 12,
    ),
    "W2": Workload(
        "CNN 2 x conv5x5(64), 10 of 100 clients x 10 steps of 50", {"kind": "cnn"}, (3, 32, 32), 100, 500, 10, 50,
        {"local_epochs": 1}, 4,
    ),
    "W3": Workload(
        "logistic 784-10, 100 of 1,000 clients x 5 steps of 60", {"kind": "logistic"}, (28, 28), 1000, 60, 100, 64,
        {"local_steps": 5}, 40,
    ),
    "R18": Workload(
        "ResNet-18 (GroupNorm), 10 of 10 clients x 5 steps of 20", {"kind": "resnet18"}, (3, 32, 32), 10, 100, 10, 20,
        {"local_epochs": 1}, 3,
    ),
    "R18W": Workload(
        "ResNet-18 (GroupNorm), 50 of 1,000 clients x 5 steps of 10", {"kind": "resnet18"}, (3, 32, 32), 1000, 50, 50,
        10, {"local_epochs": 1}, 3,
    ),
    # As the benchmark of BlazeFL, https://github.com/blazefl/blazefl, which reports five rounds.
    "BLAZE-CNN": Workload(
        "LeNet-5, 100 of 100 clients x 50 steps of 50", {"kind": "lenet5"}, (3, 32, 32), 100, 500, 100, 50,
        {"local_epochs": 5}, 1,
    ),
    "BLAZE-R18": Workload(
        "torchvision's ResNet-18 (batch norm), 100 of 100 clients x 50 steps of 50",
        {"kind": "torchvision.models:resnet18", "num_classes": 10}, (3, 32, 32), 100, 500, 100, 50,
        {"local_epochs": 5}, 1,
    ),
    # As FLUTE's on Fed-CIFAR-100 (Garcia et al., arXiv:2203.13789).
    "FLUTE": Workload(
        "ResNet-18 (GroupNorm), 100 classes, 10 of 500 clients x 5 steps of 20", {"kind": "resnet18"}, (3, 32, 32),
        500, 100, 10, 20, {"local_epochs": 1}, 3, classes=100,
    ),
}  # fmt: skip


def synthetic(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return samples [n, *shape] and labels [n]."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((workload.clients * workload.samples, *workload.shape), dtype=np.float32)
    teacher = rng.standard_normal((math.prod(workload.shape), workload.classes), dtype=np.float32)
    scores = x.reshape(len(x), -1) @ teacher
    return x, scores.argmax(axis=1)


def images(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised images of CIFAR-10 [n, 3, 32, 32] and labels [n]; if there are fewer, they come again."""
    from edgefl.learning.datasets.cifar import Cifar10

    data = Cifar10().load()
    chosen = np.arange(workload.clients * workload.samples) % len(data.train_x)
    x = (data.train_x[chosen].astype(np.float32) - data.mean) / data.std
    return x.astype(np.float32), data.train_y[chosen]


def samples_of(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples [n, *shape] and labels [n] of all clients."""
    if workload.real:
        return images(workload)
    return synthetic(workload)


def bare(workload: Workload, rounds: int, device: str) -> list[float]:
    """Train one client after another as one would write it by hand, and return the seconds of each round but the first.

    torch.optim.SGD, data in one tensor.
    """
    import torch
    from torch.nn.functional import cross_entropy

    from edgefl.learning.models import MODELS
    from edgefl.learning.models.base import Model
    from edgefl.learning.models.imported import Imported

    keys = dict(workload.model)
    kind = keys.pop("kind")
    if ":" in kind:
        member: Model = Imported(import_path=kind, **keys)
    else:
        member = MODELS.load(kind)(**keys)
    samples, labels = samples_of(workload)
    x = torch.from_numpy(samples).to(device)
    y = torch.from_numpy(labels).to(device)
    torch.manual_seed(1)
    model = member.module(workload.shape, workload.classes).to(device)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    rng = np.random.default_rng(1)
    seconds = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        total = {name: torch.zeros_like(value) for name, value in state.items()}
        for client in rng.choice(workload.clients, workload.participants, replace=False):
            model.load_state_dict(state)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
            part = torch.arange(client * workload.samples, (client + 1) * workload.samples, device=device)
            steps = 0
            while steps < workload.steps:
                for batch in part[torch.randperm(len(part), device=device)].split(workload.batch):
                    optimizer.zero_grad()
                    cross_entropy(model(x[batch]), y[batch]).backward()
                    optimizer.step()
                    steps += 1
            for name, value in model.state_dict().items():
                if value.is_floating_point():  # batch normalisation also counts its batches
                    total[name] += value / workload.participants
        state = total
        if device != "cpu":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


def scenario(workload: Workload, folder: Path, rounds: int) -> dict[str, Any]:
    """Return the same as an edgefl scenario, with the radio and the devices priced."""
    x, y = samples_of(workload)
    path = folder / "synthetic.npz"
    np.savez(path, train_x=x, train_y=y, test_x=x[:100], test_y=y[:100])
    return {
        "rounds": rounds,
        "data": {"dataset": "npz", "path": str(path), "partition": {"kind": "iid"}},
        "model": workload.model,
        "training": {**workload.work, "batch_size": workload.batch, "lr": 0.1, "weight_decay": 1e-3},
        "devices": {"count": workload.clients},
        "server": {"participants": workload.participants},
        "report": {"eval_every": rounds},
    }


def emulated(workload: Workload, rounds: int, device: str, **training: str) -> list[float]:
    """Return the seconds from the end of a round to the end of the next, everything that edgefl does included.

    Other keys are of the section `training`.
    """
    import edgefl

    ends: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        base = scenario(workload, Path(folder), rounds + 2)
        base["training"] |= training
        edgefl.run(base, device=device, progress=lambda _: ends.append(time.perf_counter()))
    rounds_s = np.diff(ends)[:-1]  # the last round waits for the evaluation
    return rounds_s.tolist()


def main() -> None:
    """Print the seconds of each round of one side as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=["bare", "edgefl"])
    parser.add_argument("workload", choices=list(WORKLOADS))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--graphs", default="auto", help="training.graphs of edgefl")
    parser.add_argument("--precision", default="float32", help="training.precision of edgefl")
    options = parser.parse_args()
    workload = WORKLOADS[options.workload]
    rounds = options.rounds or workload.rounds
    if options.side == "bare":
        seconds = bare(workload, rounds, options.device)
    else:
        keys = {"graphs": options.graphs, "precision": options.precision}
        seconds = emulated(workload, rounds, options.device, **keys)
    print(json.dumps({"workload": options.workload, "side": options.side, "round_s": seconds}))


if __name__ == "__main__":
    main()
