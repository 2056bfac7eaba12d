"""Compare the personal accuracy of FedPer and FedRep with that of fluke, an independent program, on the same splits.

    pip install fluke-fl
    python benchmarks/personal.py [--seeds 20] [--rounds 15]

Each seed divides the digits among ten devices by Dirichlet(0.3). Both programs train the same network (64-32-10) by the
same schedule, from first values and in mini-batches of their own. An accuracy is the mean over devices, each tested on
its own test samples with the last averaged layers and its own head. Behind each mean is its standard error over seeds.
"""

import argparse
import importlib.util
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

import edgefl
from edgefl.runs.data_division import divide
from edgefl.scenario import load

if TYPE_CHECKING:
    from fluke.algorithms import PersonalizedFL
    from fluke.data import FastDataLoader

DEVICES = 10
HIDDEN = 32
BATCH = 16
RATE = 0.05
HEAD_EPOCHS = 2  # of FedRep, before one of the rest
PARTS = {
    "FedPer": {"keep": ["3"]},
    "FedRep": {"keep": ["3"], "first": {"train": ["3"], "epochs": HEAD_EPOCHS}},
}
EPOCHS = {"FedPer": 2, "FedRep": HEAD_EPOCHS + 1}


def scenario(algorithm: str, seed: int, rounds: int) -> dict[str, Any]:
    """Return the scenario of an algorithm and a seed."""
    training = {"local_epochs": EPOCHS[algorithm], "batch_size": BATCH, "lr": RATE, "parts": PARTS[algorithm]}
    return {
        "seed": seed,
        "rounds": rounds,
        "data": {
            "dataset": "digits",
            "partition": {"kind": "dirichlet", "alpha": 0.3},
            "test_partition": "like_train",
        },
        "model": {"kind": "mlp", "hidden": [HIDDEN]},
        "training": training,
        "devices": {"count": DEVICES},
        "server": {"participants": DEVICES},
        "report": {"eval_every": rounds},
    }


def of_edgefl(keys: dict[str, Any]) -> float:
    """Return the mean personal accuracy [%] that edgefl reaches."""
    return 100 * float(edgefl.run(keys).summary["fairness"]["mean"])


def of_fluke(algorithm: str, keys: dict[str, Any]) -> float:
    """Return the mean personal accuracy [%] that fluke reaches on the same split."""
    import torch
    from fluke import FlukeENV

    FlukeENV().set_seed(keys["seed"])
    federation = federated(algorithm, *loaders(keys))
    with redirect_stdout(sys.stderr):  # its progress bars
        federation.run(keys["rounds"], 1.0)
    accuracies = []
    with torch.no_grad():
        for client in federation.clients:  # whose models have the last average since the end of the run
            x, y = client.test_set.tensors
            accuracies.append((client.model.eval()(x).argmax(1) == y).float().mean().item())
    return 100 * float(np.mean(accuracies))


def loaders(keys: dict[str, Any]) -> "tuple[list[FastDataLoader], list[FastDataLoader]]":
    """Return fluke's loaders of each device's samples for training and for testing."""
    import torch
    from fluke.data import FastDataLoader

    divided = divide(load(keys))
    data = divided.data

    def made(x: np.ndarray, y: np.ndarray, rows: np.ndarray, *, shuffle: bool) -> "FastDataLoader":
        tensors = torch.from_numpy(data.normalised(x[rows])).flatten(1), torch.from_numpy(y[rows])
        return FastDataLoader(*tensors, num_labels=10, batch_size=BATCH, shuffle=shuffle, skip_singleton=False)

    train = [made(data.train_x, data.train_y, rows, shuffle=True) for rows in divided.parts]
    test = [made(data.test_x, data.test_y, rows, shuffle=False) for rows in divided.test_parts or []]
    return train, test


def federated(algorithm: str, train: "list[FastDataLoader]", test: "list[FastDataLoader]") -> "PersonalizedFL":
    """Return fluke's federation; all clients begin with the same head, which they then keep."""
    from fluke import DDict
    from fluke.algorithms import PersonalizedFL
    from fluke.algorithms.fedper import FedPerClient, FedPerServer
    from fluke.algorithms.fedrep import FedRepClient, FedRepServer
    from fluke.data import DataSplitter, DummyDataContainer
    from fluke.nets import EncoderHeadNet
    from torch import nn

    client, server = {"FedPer": (FedPerClient, FedPerServer), "FedRep": (FedRepClient, FedRepServer)}[algorithm]

    class Federation(PersonalizedFL):
        """The algorithm, with a model of its own for each client."""

        def get_client_class(self) -> type:
            """Return the class of clients."""
            return client

        def get_server_class(self) -> type:
            """Return the class of the server."""
            return server

    encoder = nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU())
    local = {
        "model": EncoderHeadNet(encoder, nn.Linear(HIDDEN, 10)),
        "optimizer": {"name": "SGD", "lr": RATE},
        "scheduler": {"name": "StepLR", "step_size": 1, "gamma": 1.0},
        "loss": "CrossEntropyLoss",
        "batch_size": BATCH,
        "local_epochs": 2,
        "tau": 1,  # epochs of what FedRep sends
    }
    settings = {"client": local, "server": {"weighted": True}, "model": encoder}
    container = DummyDataContainer(train, test, None, num_classes=10)
    return Federation(DEVICES, DataSplitter(container, client_split=0.1), DDict(settings))


def shown(values: list[float]) -> str:
    """Return a mean and its standard error."""
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.2f}"


def main() -> int:
    """Print a row for each algorithm, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if importlib.util.find_spec("fluke") is None:
        print("fluke is not installed: pip install fluke-fl", file=sys.stderr)
        return 2
    print("| personal accuracy, % | edgefl | fluke | difference |\n|---|---|---|---|")
    for algorithm in PARTS:
        runs = [scenario(algorithm, seed, options.rounds) for seed in range(1, options.seeds + 1)]
        own = [of_edgefl(keys) for keys in runs]
        other = [of_fluke(algorithm, keys) for keys in runs]
        apart = [a - b for a, b in zip(own, other, strict=True)]
        print(f"| {algorithm} | {shown(own)} | {shown(other)} | {shown(apart)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
