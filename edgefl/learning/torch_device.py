"""The device on which torch trains: the CPU, or GPUs of this machine."""

import sys
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.extras import check_loads

# The driver of a GPU has one of these on Linux: CUDA, WSL under Windows, AMD, NVIDIA's small boards.
DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd", "/dev/nvhost-ctrl", "/dev/nvgpu")


def gpu_count() -> int:
    """Return the number of GPUs that torch sees here; without a driver torch is not even imported.

    Raises:
        InputError: torch cannot be loaded.
    """
    if sys.platform == "linux" and not any(Path(driver).exists() for driver in DRIVERS):
        return 0
    check_loads("torch")
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def gpu_bytes(device: str) -> int:
    """Return the memory of a GPU; of the first one if `device` names all of them."""
    import torch

    total: int = torch.cuda.get_device_properties(torch.device(device)).total_memory
    return total


def gpu_names(device: str) -> list[str]:
    """Return the type of each GPU on which a device trains; none for the CPU."""
    if device == "cpu":
        return []
    import torch

    index = torch.device(device).index
    indices = range(torch.cuda.device_count()) if index is None else [index]
    return [torch.cuda.get_device_name(index) for index in indices]


def device_names() -> list[str]:
    """Return the names that `choose_device` knows on this machine, each with its hardware.

    Raises:
        InputError: torch cannot be loaded.
    """
    check_loads("torch")
    import torch

    names = [f"cpu ({torch.get_num_threads()} threads)"]
    names += [f"cuda:{index} ({torch.cuda.get_device_name(index)})" for index in range(gpu_count())]
    return names


def choose_device(name: str) -> str:
    """Return the torch device behind auto, cpu, cuda or cuda:i.

    Raises:
        InputError: there is no such device, or torch cannot be loaded where there is a GPU.
    """
    count = gpu_count()
    if name == "auto":
        return "cuda" if count else "cpu"
    known = ["cpu"]
    if count:
        known.append("cuda")  # all of them
        known += [f"cuda:{index}" for index in range(count)]
    if name not in known:
        raise InputError(f"--device {name}: not on this machine; there is: auto, {', '.join(known)}")
    return name
