"""Workers' handler and messages, in a module that other processes can import."""

import os
import time
from pathlib import Path

import torch


class Handler:
    """The work that tests give to workers."""

    def echo(self, value):
        return value

    def pid(self):
        return os.getpid()

    def parent(self):
        return os.getppid()

    def threads(self):
        return torch.get_num_threads()

    def sleep(self, seconds):
        time.sleep(seconds)
        return seconds

    def full(self, value):
        return torch.full((1000,), float(value))

    def double(self, message):
        return {name: (2 * tensor, tensor.dtype) for name, tensor in message.items()}

    def swap(self, left, right):
        return right, left

    def fail(self, kind):
        raise kind("what went wrong")

    def gradient(self, value):
        x = torch.full((3,), float(value), requires_grad=True)
        (x * x).sum().backward()
        return x.grad


def alive(pid):
    """Tell if the process runs; one that has ended but was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def same(value):
    return value


def assert_same(left, right):
    """Values, types and shapes, at any depth."""
    assert type(left) is type(right)
    if isinstance(left, torch.Tensor):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert torch.equal(left, right)
    elif isinstance(left, dict):
        assert list(left) == list(right)
        assert_same(list(left.values()), list(right.values()))
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            assert_same(a, b)
    else:
        assert left == right


DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]


def message():
    """Tensors of all kinds, deep inside other objects."""
    torch.manual_seed(0)
    grid = torch.arange(24.0).view(4, 6)
    return {
        "plain": [torch.randn(3, 5, 7).mul(50).to(dtype) for dtype in DTYPES],
        "odd sizes": (torch.arange(3, dtype=torch.uint8), torch.arange(5.0, dtype=torch.float64), torch.ones(1) > 0),
        "not contiguous": {"t": grid.t(), "step": grid[:, ::2], "expanded": torch.ones(1, 1).expand(3, 4)},
        "empty": [torch.empty(0), torch.empty(0, 5, dtype=torch.int64), torch.empty(3, 0)],
        "scalar": torch.tensor(3.5),
        "twice": [grid, grid],
        "rest": (1, "text", None, {"deep": [b"bytes", 2.5]}),
    }
