"""Messages with tensors as bytes and arrays, which travel between the machines of a cluster."""

from __future__ import annotations

import io
import pickle
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


class Parcel(NamedTuple):
    """A message: its tensors as arrays, which a cluster moves without pickling them, and the rest as bytes."""

    rest: bytes
    tensors: list[npt.NDArray[np.uint8]]  # the bytes of each tensor


class Parcels:
    """Packs messages into parcels, and unpacks them; see `Packing`."""

    def pack(self, message: object) -> Parcel:
        """Return the message as a parcel."""
        tensors: list[npt.NDArray[np.uint8]] = []

        def place(value: object) -> tuple[int, tuple[int, ...], torch.dtype] | None:
            """Return which of the arrays has a tensor, as its persistent id; None for what is pickled as usual."""
            if not isinstance(value, Tensor) or value.numel() == 0:
                return None
            # Types such as bfloat16 are unknown to NumPy, so tensors travel as bytes.
            tensors.append(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
            return len(tensors) - 1, tuple(value.shape), value.dtype

        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        pickler.persistent_id = place  # type: ignore[method-assign]
        pickler.dump(message)
        return Parcel(buffer.getvalue(), tensors)

    def unpack(self, content: Parcel) -> Any:
        """Return the message, with tensors of its own."""

        def tensor(place: tuple[int, tuple[int, ...], torch.dtype]) -> Tensor:
            number, shape, dtype = place
            # A copy: arrays that come from a cluster's shared memory must not be written to.
            return torch.from_numpy(content.tensors[number].copy()).view(dtype).view(shape)

        unpickler = pickle.Unpickler(io.BytesIO(content.rest))  # noqa: S301 - from this program's own worker
        unpickler.persistent_load = tensor  # type: ignore[method-assign]
        return unpickler.load()
