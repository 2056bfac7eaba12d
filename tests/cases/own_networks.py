"""Small networks of a user's own for 8x8 images, with all that a state dict may hold."""

import torch
from torch import nn


class Normed(nn.Module):
    """Batch normalisation: running statistics, and a whole number that counts batches."""

    def __init__(self, classes):
        super().__init__()
        self.first = nn.Conv2d(1, 3, 3, stride=2)
        self.norm = nn.BatchNorm2d(3, momentum=0.5)
        self.last = nn.Linear(27, classes)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x[:, None]))).flatten(1))


class Grouped(Normed):
    """Group normalisation has no statistics."""

    def __init__(self, classes):
        super().__init__(classes)
        self.norm = nn.GroupNorm(3, 3)


class Tied(nn.Module):
    """Two layers with the same weights, constants that are saved or not, and state that is not a tensor."""

    def __init__(self, classes):
        super().__init__()
        self.first = nn.Linear(64, 64, bias=False)
        self.second = nn.Linear(64, 64)
        self.second.weight = self.first.weight
        self.last = nn.Linear(64, classes)
        self.register_buffer("scale", torch.full((64,), 0.5))
        self.register_buffer("order", torch.arange(64).flip(0))
        self.register_buffer("shift", torch.ones(64), persistent=False)

    def get_extra_state(self):
        return {"made by": "a test"}

    def set_extra_state(self, state):
        raise AssertionError("it is not a tensor, so it is not saved")

    def forward(self, x):
        x = x.flatten(1)[:, self.order] * self.scale
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))) + self.shift)


class Adapted(nn.Module):
    """LoRA by hand: frozen layers, and two trained factors beside the first of them."""

    def __init__(self, classes):
        super().__init__()
        self.first = nn.Linear(64, 32).requires_grad_(False)
        self.last = nn.Linear(32, classes).requires_grad_(False)
        self.down = nn.Parameter(torch.randn(4, 64) / 8)
        self.up = nn.Parameter(torch.zeros(32, 4))

    def forward(self, x):
        x = x.flatten(1)
        return self.last(torch.relu(self.first(x) + x @ self.down.T @ self.up.T))


class CountingNormed(Normed):
    """Batch normalisation whose momentum follows from a count of batches."""

    def __init__(self, classes):
        super().__init__(classes)
        self.norm = nn.BatchNorm2d(3, momentum=None)


class Forgetful(nn.Module):
    """Counts its calls outside of its buffers."""

    calls = 0

    def __init__(self, classes):
        super().__init__()
        self.last = nn.Linear(64, classes)

    def forward(self, x):
        self.calls += 1
        return self.last(x.flatten(1))
