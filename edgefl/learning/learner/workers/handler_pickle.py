"""Pickles of what makes a worker's handler, for a process of Python that begins without any of this one's modules."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from typing_extensions import override

from edgefl.core.plugin_import import folder_of, imported_from

Make = Callable[[], object]
"""Returns a handler."""


class CannotSendError(Exception):
    """What makes the handler cannot be sent to another process."""


def write(file: BinaryIO, make: Make) -> None:
    """Write a function that makes a handler, with torch's settings that its results depend on.

    Raises:
        CannotSendError: part of it cannot be pickled.
    """
    try:
        _Pickler(file, pickle.HIGHEST_PROTOCOL).dump((torch.get_default_dtype(), _precision(), make))
    except CannotSendError:
        raise
    except Exception as error:
        raise CannotSendError(f"{type(error).__name__}: {error}".partition("\n")[0]) from error


def made(file: BinaryIO) -> object:
    """Return a new handler, given the file that `write` has written in another process."""
    dtype, precision, make = pickle.load(file)  # noqa: S301 - this program's own
    torch.set_default_dtype(dtype)
    if precision is not None:
        torch.set_float32_matmul_precision(precision)
    return make()


def _precision() -> str | None:
    """Return torch's precision of products, if torch tells it: not where its older and newer names were mixed."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


class _Pickler(pickle.Pickler):
    @override
    def reducer_override(self, obj: Any) -> Any:
        """Return how to make an object again, where Python's own way would not work."""
        if isinstance(obj, np.memmap):
            return _mapped_again(obj)
        name = getattr(obj, "__qualname__", None)
        module = getattr(obj, "__module__", None)
        if name is None or not isinstance(module, str):
            return NotImplemented
        if module == "__main__":
            raise CannotSendError(f"the program itself defines {name}: move it to a module of its own")
        folder = folder_of(obj)
        if folder is None:
            return NotImplemented
        return imported_from, (str(folder), module, name)


def _mapped_again(array: Any) -> Any:
    """Return how to map an array from its file; `NotImplemented` if it is a part of one, or its file is gone."""
    # Only the array that was mapped itself, whose base is the memory, knows where in the file it begins.
    is_whole = not isinstance(array.base, np.ndarray) and array.flags.c_contiguous
    if not is_whole or not isinstance(array.filename, Path | str) or not Path(array.filename).is_file():
        return NotImplemented
    mode = "c" if array.mode == "c" else "r"  # copy on write, or nothing is written
    return np.memmap, (str(array.filename), array.dtype, mode, array.offset, array.shape)
