"""Networks of convolutions of every kind that the kernels for GPUs know, small enough for Triton's interpreter."""

import torch
from torch import nn
from torchvision.models.resnet import BasicBlock

from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.learner.kernels.gradients import VmapGradient
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.models import Model

CLIENTS = 2
IMAGES = 2
CLASSES = 4


def no_norm(_channels):
    return nn.Identity()


def halves(channels):
    return nn.GroupNorm(2, channels)


def block(inputs, outputs, norm, stride=1):
    """One of torchvision's residual blocks, with a projected shortcut where it changes the size."""
    shortcut = None
    if stride != 1 or inputs != outputs:
        shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs))
    return BasicBlock(inputs, outputs, stride, shortcut, norm_layer=norm)


def ending(features):
    return nn.Flatten(), nn.Linear(features, CLASSES)


NETWORKS = {
    "plain": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 20, 3, padding=1), nn.ReLU(), *ending(180)
    ),
    "gray": lambda: nn.Sequential(nn.Unflatten(1, (1, 8)), nn.Conv2d(1, 4, 5), nn.MaxPool2d(2), nn.ReLU(), *ending(16)),
    "uneven window": lambda: nn.Sequential(nn.Conv2d(3, 5, (1, 3), (2, 1), (0, 2), bias=False), *ending(200)),
    "overlapping pools": lambda: nn.Sequential(nn.Conv2d(3, 5, 3), nn.MaxPool2d(3, 2, 1), nn.ReLU(), *ending(45)),
    "many channels": lambda: nn.Sequential(nn.Conv2d(17, 130, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), *ending(130)),
    "group norm": lambda: nn.Sequential(nn.Conv2d(3, 6, 3, bias=False), nn.GroupNorm(2, 6), *ending(216)),
    "group norm, rectified": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.GroupNorm(3, 6), nn.ReLU(), nn.MaxPool2d(2), *ending(54)
    ),
    "batch norm": lambda: nn.Sequential(
        *(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), nn.ReLU()),
        *(nn.Conv2d(4, 4, 2), nn.BatchNorm2d(4, momentum=0.3)),
        *ending(64),
    ),
    "residual": lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(), block(4, 8, no_norm, 2), *ending(32)),
    "residual, group norm": lambda: nn.Sequential(nn.Conv2d(3, 4, 1), halves(4), block(4, 4, halves), *ending(64)),
    "residual, batch norm": lambda: nn.Sequential(nn.Conv2d(3, 4, 1), block(4, 8, nn.BatchNorm2d, 2), *ending(32)),
    "residual first": lambda: nn.Sequential(nn.Conv2d(3, 3, 1), block(3, 3, no_norm), *ending(48)),
    "dropout": lambda: nn.Sequential(
        nn.Conv2d(3, 5, 3), nn.Dropout(0.4), nn.ReLU(), nn.Sequential(*ending(180), nn.Dropout(0.2)), nn.ReLU()
    ),
    "nested": lambda: nn.Sequential(
        nn.Sequential(nn.Conv2d(3, 5, 3), nn.Sequential(nn.ReLU(), nn.Identity())), nn.Dropout(0), *ending(180)
    ),
}


class Own(Model):
    """One of the networks, as a user's model."""

    network: str = "plain"

    def module(self, _shape, _classes):
        return NETWORKS[self.network]()

    def parameters(self, shape, classes):
        return sum(parameter.numel() for parameter in self.module(shape, classes).parameters())

    def multiplications(self, _shape, _classes):
        return 1000


def shape_of(name):
    """The shape of an image."""
    if name == "gray":
        return (8, 8)
    if name == "many channels":
        return (17, 2, 2)
    if name == "batch norm":
        return (3, 6, 6)
    if "residual" in name:
        return (3, 4, 4)
    return (3, 8, 8)


class Case:
    """Two clients with models of their own, and a mini-batch of each, of which the second is padded."""

    def __init__(self, name, dtype=torch.float32):
        torch.manual_seed(0)
        self.model = Own(network=name)
        self.network = Network(NETWORKS[name](), own_code=True)
        size = len(self.network.parameters)
        self.w = (torch.cat([p.detach().flatten() for p in self.network.module.parameters()]) + 0.1).repeat(CLIENTS, 1)
        self.w += 0.1 * torch.randn(CLIENTS, size)
        self.statistics = self.network.initial_statistics.repeat(CLIENTS, 1)
        self.x = torch.randn(CLIENTS, IMAGES, *shape_of(name))
        self.y = torch.randint(0, CLASSES, (CLIENTS, IMAGES))
        self.weight = torch.full((CLIENTS, IMAGES), 1 / IMAGES)
        if not self.network.couples_samples:
            self.weight[1] = torch.tensor([1.0, 0.0])
        self.keys = torch.tensor([5, 2**40 + 7])

    def gradients(self, kernel, steps=1):
        """Return losses, gradients and statistics after some steps of a kernel on the same samples."""
        into = torch.full_like(self.w, torch.nan)
        statistics = self.statistics.clone()
        step = kernel.bind(self.w, statistics, into, None)
        for _ in range(steps):
            losses = step(self.x, self.y, self.weight, self.keys)
        return losses, into, statistics

    def in_double(self):
        """The same by autograd in double precision."""
        self.network = Network(self.network.module.double(), own_code=self.network.own_code)
        for name in ("w", "statistics", "x", "weight"):
            setattr(self, name, getattr(self, name).double())
        return self.gradients(VmapGradient(self.network, self.model, FedAvg()))


def assert_alike(found, right, tolerance):
    """The gradient of each tensor, relative to the length of the whole, and all else."""
    for one, other in zip(found, right, strict=True):
        difference = (one.double() - other).flatten(1 if one.ndim > 1 else 0).norm()
        assert difference <= tolerance * max(1.0, float(other.norm()))
