"""Memory of the training device: bytes in use, bytes that may be used, and errors that mean there is none left."""

import torch

from edgefl.core.machine import available_bytes

FRACTION = 0.5  # share of the free memory that states may fill, or the clients that are trained together


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if torch or Python ran out of memory, on a GPU or on the host."""
    # on the host torch raises a plain RuntimeError, which only its text tells from others
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def budget(device: torch.device) -> int:
    """Return the bytes that may be used: half of the free memory of a GPU, or of a host or its container."""
    if device.type == "cuda":
        free_bytes, _ = torch.cuda.mem_get_info(device)
        return int(FRACTION * free_bytes)
    return int(FRACTION * available_bytes())
