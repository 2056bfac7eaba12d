"""Messages with tensors as bytes and arrays, which travel between the machines of a cluster."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.learning.learner.workers.tensor_pickle import packed, unpacked


class Parcel(NamedTuple):
    """A message: its tensors as arrays, which a cluster moves without pickling them, and the rest as bytes."""

    rest: bytes
    tensors: list[npt.NDArray[np.uint8]]  # the bytes of each tensor


class Parcels:
    """Packs messages into parcels, and unpacks them; see `Packing`."""

    def pack(self, message: object) -> Parcel:
        """Return the message as a parcel."""
        tensors: list[npt.NDArray[np.uint8]] = []

        def keep(tensor: Tensor) -> tuple[int, tuple[int, ...], torch.dtype]:
            # Types such as bfloat16 are unknown to NumPy, so tensors travel as bytes.
            tensors.append(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
            return len(tensors) - 1, tuple(tensor.shape), tensor.dtype

        rest = packed(message, keep)
        return Parcel(rest, tensors)

    def unpack(self, content: Parcel) -> Any:
        """Return the message, with new tensors."""

        def find(number: int, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
            # A copy: arrays that come from a cluster's shared memory must not be written to.
            return torch.from_numpy(content.tensors[number].copy()).view(dtype).view(shape)

        return unpacked(content.rest, find)
