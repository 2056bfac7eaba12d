"""Measure the seconds a round of pfl-research, the simulator on PyPI as `pfl`, on three CPU workloads.

    pip install pfl torch
    python benchmarks/pfl_research.py --workload W1 --rounds 8 --processes 2

W1 is an MLP, W2 a CNN, W3 logistic regression; WORKLOADS has their sizes. All train by federated averaging, weighted by
samples, with local SGD on standard-normal inputs that a fixed linear teacher labels. A round lasts from the end of one
central iteration to the end of the next: the local training of the cohort, its reduction over the processes, and the
update of the model. Making the data is not in it, nor is evaluation: pfl evaluates in its first round only, which warms
up and is left out. The result is one line of JSON on stdout; --verbose adds a line a round on stderr.

With several processes, each trains its share of every cohort, and torch.distributed (gloo) sums the updates.
"""

import argparse
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from pfl.data.pytorch import PyTorchTensorDataset
    from pfl.model.pytorch import PyTorchModel

LEARNING_RATE = 0.1
WEIGHT_DECAY = 1e-3
CLASSES = 10
SEED = 1
ADDRESSES = "PFL_WORKER_ADDRESSES"  # how pfl learns of its processes
RANK = "PFL_WORKER_RANK"


@dataclass(frozen=True)
class Workload:
    """The sizes of a workload."""

    shape: tuple[int, ...]  # of one input
    clients: int
    samples: int  # of each client
    cohort: int  # clients that train in a round
    epochs: int  # of local training, in steps of `batch` samples
    batch: int


WORKLOADS = {
    "W1": Workload((784,), clients=100, samples=600, cohort=15, epochs=5, batch=50),
    "W2": Workload((3, 32, 32), clients=100, samples=500, cohort=10, epochs=1, batch=50),
    "W3": Workload((784,), clients=1000, samples=60, cohort=100, epochs=5, batch=64),
}


def layers(name: str) -> "list[torch.nn.Module]":
    """Return the layers of a workload's network."""
    from torch import nn

    if name == "W1":
        return [nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, CLASSES)]
    if name == "W2":
        first = [nn.Conv2d(3, 64, 5), nn.ReLU(), nn.MaxPool2d(2)]
        second = [nn.Conv2d(64, 64, 5), nn.ReLU(), nn.MaxPool2d(2)]
        dense = [nn.Linear(1600, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, CLASSES)]
        return [*first, *second, nn.Flatten(), *dense]
    return [nn.Linear(784, CLASSES)]


def make_model(name: str) -> "PyTorchModel":
    """Return a network with what pfl asks for, SGD on the clients and plain averaging on the server."""
    import torch
    from pfl.metrics import Weighted
    from pfl.model.pytorch import PyTorchModel
    from torch.nn.functional import cross_entropy

    class Network(torch.nn.Sequential):
        """A network with the two methods that pfl calls."""

        def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            """Return the mean loss of a batch."""
            return cross_entropy(self(x), y)

        @torch.no_grad()
        def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Weighted]:
            """Return the loss of some samples, and their number."""
            loss = cross_entropy(self(x), y, reduction="sum")
            return {"loss": Weighted(loss.item(), len(y))}

    network = Network(*layers(name))
    return PyTorchModel(
        network,
        local_optimizer_create=partial(torch.optim.SGD, weight_decay=WEIGHT_DECAY),
        central_optimizer=torch.optim.SGD(network.parameters(), lr=1.0),
    )


def make_users(work: Workload) -> "list[PyTorchTensorDataset]":
    """Return the data of each client."""
    import torch
    from pfl.data.pytorch import PyTorchTensorDataset

    x = torch.randn(work.clients * work.samples, *work.shape)
    inputs = x.flatten(1)
    teacher = torch.randn(inputs.shape[1], CLASSES)
    y = (inputs @ teacher).argmax(1)
    pairs = zip(x.split(work.samples), y.split(work.samples), strict=True)
    return [PyTorchTensorDataset(pair, user_id=str(user)) for user, pair in enumerate(pairs)]


def measure(name: str, rounds: int, threads: int, rank: int, *, verbose: bool) -> list[float]:
    """Train in this process, with the others if pfl has been told of any, and return the seconds of each round."""
    import numpy as np
    import torch
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.aggregate.weighting import WeightByDatapoints
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
    from pfl.metrics import Metrics

    torch.set_num_threads(threads)
    np.random.seed(SEED)  # noqa: NPY002 - pfl draws from the global state, which all processes must share
    torch.manual_seed(SEED)
    work = WORKLOADS[name]
    model = make_model(name)
    users = make_users(work)
    trained: list[int] = []
    starts: list[float] = []
    ends: list[float] = []

    def dataset_of(user: int) -> "PyTorchTensorDataset":
        """Return the data of a client that takes part."""
        trained.append(user)
        return users[user]

    class Timer(TrainingProcessCallback):
        """A record of when rounds begin and end."""

        def after_central_iteration(
            self, aggregate_metrics: Metrics, model: "PyTorchModel", *, central_iteration: int
        ) -> tuple[bool, Metrics]:
            """Note the end of a round and the beginning of the next."""
            ends.append(time.perf_counter())
            if verbose:
                cohort = aggregate_metrics.to_simple_dict()["Train population | number of devices"]
                loss = model.evaluate(users[0]).to_simple_dict()["Loss"]  # of the new global model on one client
                text = f"process {rank} trained {len(trained)} of {cohort:.0f} clients, loss {loss:.4f}"
                print(f"round {central_iteration}: {text}", file=sys.stderr)
            trained.clear()
            starts.append(time.perf_counter())
            return False, Metrics()

    sampler = get_user_sampler("minimize_reuse", list(range(work.clients)))
    data = FederatedDataset(dataset_of, sampler)
    backend = SimulatedBackend(data, data, postprocessors=[WeightByDatapoints()])
    central = NNAlgorithmParams(rounds + 1, rounds + 1, train_cohort_size=work.cohort, val_cohort_size=None)
    local = NNTrainHyperParams(work.batch, local_num_epochs=work.epochs, local_learning_rate=LEARNING_RATE)
    evaluation = NNEvalHyperParams(local_batch_size=None)
    algorithm = FederatedAveraging()
    algorithm.run(central, backend, model, local, evaluation, [Timer()], send_metrics_to_platform=False)
    return [end - start for start, end in zip(starts, ends[1:], strict=False)]  # all but the round that warms up


def launch(processes: int) -> int:
    """Run this command in several processes that find each other through a port, and return the worst exit status."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    shared = {**os.environ, ADDRESSES: ",".join([address] * processes)}
    command = [sys.executable, *sys.argv]
    workers = [subprocess.Popen(command, env={**shared, RANK: str(rank)}) for rank in range(processes)]
    try:
        while not have_ended(workers):
            time.sleep(0.05)
    finally:
        for worker in workers:
            worker.terminate()
    return max(abs(worker.wait()) for worker in workers)


def have_ended(workers: list[subprocess.Popen[bytes]]) -> bool:
    """Return whether all processes have ended, or one has failed."""
    statuses = [worker.poll() for worker in workers]
    has_failed = any(statuses)
    return has_failed or None not in statuses


def main() -> int:
    """Print the seconds of each round, and return the exit status."""
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", choices=WORKLOADS, required=True)
    parser.add_argument("--rounds", type=int, default=8, help="rounds to time, after the one that warms up")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, help="of torch, in each process; the cores shared out by default")
    parser.add_argument("--verbose", action="store_true", help="who trained, and the loss, on stderr")
    args = parser.parse_args()
    if not (importlib.util.find_spec("pfl") and importlib.util.find_spec("torch")):
        print("pfl-research is not installed: pip install pfl torch", file=sys.stderr)
        return 2
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # with a GPU in sight, pfl would train and reduce there
    if args.processes > 1 and RANK not in os.environ:
        return launch(args.processes)
    threads = args.threads or max(1, cores // args.processes)
    rank = int(os.environ.get(RANK, "0"))
    seconds = measure(args.workload, args.rounds, threads, rank, verbose=args.verbose)
    if rank == 0:
        result = {"workload": args.workload, "processes": args.processes, "round_s": seconds}
        print(json.dumps({**result, "pfl": version("pfl"), "torch": version("torch")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
