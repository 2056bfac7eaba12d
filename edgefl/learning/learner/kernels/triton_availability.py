"""Whether a device runs kernels in Triton, which this process then imports; no CPU needs it."""

from importlib.util import find_spec

import torch

LEAST_CAPABILITY = (8, 0)  # of Nvidia's GPUs: the first whose tensor cores multiply tf32 and bfloat16


def has_triton(device: torch.device) -> bool:
    """Return whether a device is a GPU that runs our kernels, and Triton is installed, as with PyTorch on Linux."""
    if device.type != "cuda" or find_spec("triton") is None:
        return False
    return torch.cuda.get_device_capability(device) >= LEAST_CAPABILITY
