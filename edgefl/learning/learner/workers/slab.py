"""Shared memory that carries the tensors of a message between two processes of a machine."""

import mmap
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from edgefl.learning.learner.workers.tensor_pickle import packed, unpacked

SLAB_BYTES = 2**30  # address space for tensors in each direction; it takes memory only where it is touched
LEAST_SLAB_BYTES = 2**20  # where a limit such as `ulimit -v` leaves no room for more
ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
# MAP_NORESERVE: no swap is set aside for the address space, as most of it is never touched
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0)


class Slab:
    """Shared memory for the tensors of one message; the rest of the message is pickled.

    A tensor is copied once, into the memory; through the pipe it would be copied several times. Tensors that do not fit
    into the memory go through the pipe. Processes that are forked later share it.
    """

    def __init__(self) -> None:
        self._memory = _mapped()

    def pack(self, message: object) -> bytes:
        """Write the message's tensors into the memory; return the rest as bytes."""
        used = 0

        def keep(tensor: Tensor) -> tuple[int, tuple[int, ...], torch.dtype] | None:
            """Put a tensor into the memory, and return where it is; None if it does not fit."""
            nonlocal used
            if used + tensor.nbytes > len(self._memory):
                return None
            begin = used
            self._view(begin, tensor.shape, tensor.dtype).copy_(tensor)
            used = _aligned(begin + tensor.nbytes)
            return begin, tuple(tensor.shape), tensor.dtype

        return packed(message, keep)

    def unpack(self, content: bytes) -> Any:
        """Return the message; its tensors are views of the memory."""
        return unpacked(content, self._view)

    def _view(self, begin: int, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        count = torch.Size(shape).numel()
        return torch.frombuffer(self._memory, dtype=dtype, count=count, offset=begin).view(shape)


def _mapped() -> mmap.mmap:
    """Return memory that forked processes share, as much as the address space has room for."""
    flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | NO_RESERVE
    size_bytes = SLAB_BYTES
    while size_bytes > LEAST_SLAB_BYTES:
        with suppress(OSError):
            return mmap.mmap(-1, size_bytes, flags=flags)
        size_bytes //= 4
    return mmap.mmap(-1, size_bytes, flags=flags)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
