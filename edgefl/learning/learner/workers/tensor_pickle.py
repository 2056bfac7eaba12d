"""Pickles of messages whose tensors are kept elsewhere: in memory that processes share, or as arrays of a cluster."""

import io
import pickle
from collections.abc import Callable
from typing import Any

from torch import Tensor
from typing_extensions import override

Place = tuple[Any, ...]  # says where a tensor is
Keep = Callable[[Tensor], Place | None]
Find = Callable[..., Tensor]


def packed(message: object, keep: Keep) -> bytes:
    """Return a message as bytes, without the tensors that are kept elsewhere.

    For a tensor that is not empty `keep` returns its place; None: it is pickled with the rest.
    """
    buffer = io.BytesIO()
    _Pickler(buffer, keep).dump(message)
    return buffer.getvalue()


def unpacked(content: bytes, find: Find) -> Any:
    """Return a message from the bytes that `packed` made; `find` returns the tensor at a place, given its parts."""
    return _Unpickler(io.BytesIO(content), find).load()


# Python 3.13 takes the hooks `persistent_id` and `persistent_load` only as methods of derived classes.


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, keep: Keep) -> None:
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self._keep = keep

    @override
    def persistent_id(self, obj: object) -> Place | None:
        if isinstance(obj, Tensor) and obj.numel():
            return self._keep(obj)
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, find: Find) -> None:
        super().__init__(buffer)
        self._find = find

    @override
    def persistent_load(self, pid: Place) -> Tensor:
        return self._find(*pid)
