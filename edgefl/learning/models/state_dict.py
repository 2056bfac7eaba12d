"""Parameters in a file of `torch.save(module.state_dict(), path)`."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.core.files import read_bytes

BUFFERS = ("running_mean", "running_var", "num_batches_tracked")  # of batch normalisation, which are not parameters
REMEDY = "write it with torch.save(module.state_dict(), path)"


def parameters_of(path: Path) -> npt.NDArray[Any]:
    """Return the parameters [d] of a module, in the order of its `state_dict`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it does not hold a state_dict; the message says what to do.
    """
    import torch

    try:
        # Only tensors and plain containers: a pickle of anything else could run any code.
        content = torch.load(BytesIO(read_bytes(path)), map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - a damaged file can raise anything
        raise ValueError(f"is not the state_dict of a torch module: {REMEDY}") from None
    is_mapping = isinstance(content, dict) and content
    if not is_mapping or not all(isinstance(tensor, torch.Tensor) for tensor in content.values()):
        raise ValueError(f"holds more than the state_dict of a torch module: {REMEDY}")
    parts = [tensor for name, tensor in content.items() if name.rpartition(".")[2] not in BUFFERS]
    return np.concatenate([part.float().numpy().ravel() for part in parts])
