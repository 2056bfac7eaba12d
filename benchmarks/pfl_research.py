"""Seconds a round of pfl-research, the simulator of federated learning on PyPI as `pfl`, on three CPU workloads.

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

LEARNING_RATE, WEIGHT_DECAY, CLASSES, SEED = 0.1, 1e-3, 10, 1
ADDRESSES, RANK = "PFL_WORKER_ADDRESSES", "PFL_WORKER_RANK"  # how pfl learns of its processes


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
    from torch import nn

    if name == "W1":
        return [nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, CLASSES)]
    if name == "W2":
        convolutions = [nn.Conv2d(3, 64, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 64, 5), nn.ReLU()]
        dense = [nn.Linear(1600, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, CLASSES)]
        return [*convolutions, nn.MaxPool2d(2), nn.Flatten(), *dense]
    return [nn.Linear(784, CLASSES)]


def make_model(name: str) -> "PyTorchModel":
    """The network with the two methods that pfl asks for, SGD on the clients and plain averaging on the server."""
    import torch
    from pfl.metrics import Weighted
    from pfl.model.pytorch import PyTorchModel
    from torch.nn.functional import cross_entropy

    class Network(torch.nn.Sequential):
        def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return cross_entropy(self(x), y)

        @torch.no_grad()
        def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Weighted]:
            return {"loss": Weighted(cross_entropy(self(x), y, reduction="sum").item(), len(y))}

    network = Network(*layers(name))
    return PyTorchModel(
        network,
        local_optimizer_create=partial(torch.optim.SGD, weight_decay=WEIGHT_DECAY),
        central_optimizer=torch.optim.SGD(network.parameters(), lr=1.0),
    )


def make_users(work: Workload) -> "list[PyTorchTensorDataset]":
    import torch
    from pfl.data.pytorch import PyTorchTensorDataset

    x = torch.randn(work.clients * work.samples, *work.shape)
    inputs = x.flatten(1)
    y = (inputs @ torch.randn(inputs.shape[1], CLASSES)).argmax(1)
    pairs = zip(x.split(work.samples), y.split(work.samples), strict=True)
    return [PyTorchTensorDataset(pair, user_id=str(user)) for user, pair in enumerate(pairs)]


def measure(name: str, rounds: int, threads: int, rank: int, *, verbose: bool) -> list[float]:
    """Trains in this process, together with the others if pfl has been told of any; the seconds of each round."""
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
    work, model = WORKLOADS[name], make_model(name)
    users = make_users(work)
    trained: list[int] = []
    starts: list[float] = []
    ends: list[float] = []

    def dataset_of(user: int) -> "PyTorchTensorDataset":
        trained.append(user)
        return users[user]

    class Timer(TrainingProcessCallback):
        def after_central_iteration(
            self, aggregate_metrics: Metrics, model: "PyTorchModel", *, central_iteration: int
        ) -> tuple[bool, Metrics]:
            ends.append(time.perf_counter())
            if verbose:
                cohort = aggregate_metrics.to_simple_dict()["Train population | number of devices"]
                loss = model.evaluate(users[0]).to_simple_dict()["Loss"]  # of the new global model on one client
                text = f"process {rank} trained {len(trained)} of {cohort:.0f} clients, loss {loss:.4f}"
                print(f"round {central_iteration}: {text}", file=sys.stderr)
            trained.clear()
            starts.append(time.perf_counter())
            return False, Metrics()

    data = FederatedDataset(dataset_of, get_user_sampler("minimize_reuse", list(range(work.clients))))
    backend = SimulatedBackend(data, data, postprocessors=[WeightByDatapoints()])
    central = NNAlgorithmParams(rounds + 1, rounds + 1, train_cohort_size=work.cohort, val_cohort_size=None)
    local = NNTrainHyperParams(work.batch, local_num_epochs=work.epochs, local_learning_rate=LEARNING_RATE)
    evaluation, callbacks = NNEvalHyperParams(local_batch_size=None), [Timer()]
    algorithm = FederatedAveraging()
    algorithm.run(central, backend, model, local, evaluation, callbacks, send_metrics_to_platform=False)
    return [end - start for start, end in zip(starts, ends[1:], strict=False)]  # all but the round that warms up


def launch(processes: int) -> int:
    """Runs this command in several processes that find each other through a free port; the worst exit status."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    shared = {**os.environ, ADDRESSES: ",".join([address] * processes)}
    command = [sys.executable, *sys.argv]
    workers = [subprocess.Popen(command, env={**shared, RANK: str(rank)}) for rank in range(processes)]
    try:
        while any(worker.poll() is None for worker in workers) and not any(worker.poll() for worker in workers):
            time.sleep(0.05)
    finally:
        for worker in workers:
            worker.terminate()
    return max(abs(worker.wait()) for worker in workers)


def main() -> int:
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
    threads, rank = args.threads or max(1, cores // args.processes), int(os.environ.get(RANK, "0"))
    seconds = measure(args.workload, args.rounds, threads, rank, verbose=args.verbose)
    if rank == 0:
        result = {"workload": args.workload, "processes": args.processes, "round_s": seconds}
        print(json.dumps({**result, "pfl": version("pfl"), "torch": version("torch")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
