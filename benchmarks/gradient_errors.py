"""Measure the error of the gradients that our kernels for GPUs compute.

    python benchmarks/gradient_errors.py [--models cnn resnet18 ...] [--side 32] [--clients 2] [--images 4]

For each model and precision: the gradient of each client's loss, against autograd in double precision on the CPU,
relative to its length; the largest error of a client. Without a GPU Triton's interpreter runs the kernels, in float32
alone: it knows no other precision, and takes minutes for large models.
"""

from __future__ import annotations

import argparse
import os

import torch
from torch import Tensor

CLASSES = 10
PRECISIONS = ("float32", "tf32", "bfloat16")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # has to be said before anything imports Triton

from edgefl.learning.algorithms.fedavg import FedAvg  # noqa: E402
from edgefl.learning.learner.kernels.gradients import GradientKernel, VmapGradient  # noqa: E402
from edgefl.learning.learner.kernels.triton_gradient import TritonGradient  # noqa: E402
from edgefl.learning.learner.networks.network import Network  # noqa: E402
from edgefl.learning.learner.workers.gpu import FlagsForGpus  # noqa: E402
from edgefl.learning.models import MODELS, Model  # noqa: E402


class Batches:
    """A mini-batch of each of some clients, whose models lie around the initial one."""

    def __init__(self, model: Model, side: int, clients: int, images: int) -> None:
        torch.manual_seed(0)
        self.model = model
        shape = (3, side, side)
        self.network = Network(model.module(shape, CLASSES).float())
        names = self.network.parameters.names
        w = torch.cat([self.network.module.get_parameter(name).detach().flatten() for name in names])
        self.w = w + 0.02 * torch.randn(clients, len(w))
        self.statistics = self.network.initial_statistics.repeat(clients, 1)
        self.x = torch.randn(clients, images, *shape)
        self.y = torch.randint(0, CLASSES, (clients, images))
        self.keys = torch.arange(clients)

    def gradient(self, kernel: GradientKernel, device: str, dtype: torch.dtype) -> Tensor:
        """Return each client's gradient [clients, d]."""
        w = self.w.to(device, dtype)
        into = torch.empty_like(w)
        step = kernel.bind(w, self.statistics.to(device, dtype), into, None)
        weight = torch.full(self.y.shape, 1 / self.y.shape[1], device=device, dtype=dtype)
        step(self.x.to(device, dtype), self.y.to(device), weight, self.keys.to(device))
        return into.cpu().double()

    def exact(self) -> Tensor:
        """Return the gradients in double precision."""
        network = Network(self.network.module.cpu().double())
        kernel = VmapGradient(network, self.model, FedAvg())
        gradient = self.gradient(kernel, "cpu", torch.float64)
        self.network.module.float()
        return gradient


def main() -> None:
    """Print a line for each model and precision."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", default=["lenet5", "cnn", "svhn_cnn"])
    parser.add_argument("--side", type=int, default=32, help="of the images [pixels]")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--images", type=int, default=4, help="of a mini-batch")
    options = parser.parse_args()
    precisions = PRECISIONS if DEVICE == "cuda" else PRECISIONS[:1]
    print(f"on {torch.cuda.get_device_name() if DEVICE == 'cuda' else 'the interpreter of Triton'}")
    for name in options.models:
        batches = Batches(MODELS.load(name)(), options.side, options.clients, options.images)
        exact = batches.exact()
        for precision in precisions:
            batches.network.module.to(DEVICE)
            flags = FlagsForGpus()
            flags.hold(batches, exact=precision != "tf32")
            kernel = TritonGradient(batches.network, batches.model, FedAvg(), precision)
            found = batches.gradient(kernel, DEVICE, torch.float32)
            flags.release()
            error = ((found - exact).norm(dim=1) / exact.norm(dim=1)).max()
            print(f"{name:14} {precision:9} {float(error):.1e}", flush=True)


if __name__ == "__main__":
    main()
