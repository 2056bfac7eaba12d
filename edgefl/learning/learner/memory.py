"""Memory of the training device: what is taken, what is left, and how running out of it shows."""

from __future__ import annotations

import resource
import sys

import torch

from edgefl.core.machine import available_bytes

FRACTION = 0.5  # of the free memory that states may fill, or the clients that are trained together


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch or Python ran out of memory, on a GPU or on the host."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def peak_bytes(device: str) -> int:
    """The most memory that was taken: on a GPU since the last `forget_peak`, of this process otherwise."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak(device: str) -> int:
    """Begin a new measurement; what is taken now."""
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    return peak_bytes(device)


def budget(device: torch.device) -> int:
    """Bytes that may be taken of what is available: on a GPU, or on the host within what a container is allowed."""
    if device.type == "cuda":
        return int(FRACTION * torch.cuda.mem_get_info(device)[0])
    return int(FRACTION * available_bytes())
