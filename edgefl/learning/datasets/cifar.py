"""Reading the Python batches of CIFAR-10 and CIFAR-100: pickles, without running any code that they name."""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.learning.datasets.base import Array

SHAPE = (3, 32, 32)  # in the file's order: all of red, then green, then blue


class _Bytes:
    """A stand-in for a pickled NumPy array, which keeps its bytes and does nothing else."""

    raw: object = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.raw = state[-1]  # version, shape, dtype, order, bytes


class _Type:
    """A stand-in for a pickled NumPy type."""

    def __init__(self, *args: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        pass


def _reconstruct(*args: object) -> _Bytes:
    return _Bytes()


def _latin1(text: str, encoding: str) -> bytes:
    # Python 3 writes bytes this way into pickles for Python 2.
    return text.encode("latin1")


class _Unpickler(pickle.Unpickler):
    """Reads plain values, and arrays as `_Bytes`; refuses whatever else a file names."""

    KNOWN: ClassVar[dict[tuple[str, str], Callable[..., object]]] = {
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): _reconstruct,  # NumPy 2
        ("numpy", "ndarray"): _Bytes,
        ("numpy", "dtype"): _Type,
        ("_codecs", "encode"): _latin1,
    }

    def find_class(self, module: str, name: str) -> Any:
        # A pickle runs whatever it names here: a file from the network must not name anything else.
        if (module, name) not in self.KNOWN:
            raise pickle.UnpicklingError(f"names {module}.{name}")
        return self.KNOWN[module, name]


def read_batches(paths: Sequence[Path], labels: str, classes: int, what: str) -> tuple[Array, Array]:
    """Return the images [n, 3, 32, 32] uint8 and labels [n] of some batches.

    Args:
        paths: the batches, in order.
        labels: the name under which they hold the labels.
        classes: how many there are.
        what: what to download and where to put it, for the message.

    Raises:
        InputError: one is missing or damaged.
    """
    batches = [_read(path, labels, classes, what) for path in paths]
    return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])


def _read(path: Path, name: str, classes: int, what: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    try:
        batch = _Unpickler(io.BytesIO(read_bytes(path)), encoding="bytes").load()
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}. {what}") from None
    except Exception as error:  # noqa: BLE001 - a damaged pickle can raise anything
        problem = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"data.dataset: {path}: is not a whole batch of CIFAR ({problem}). {what}") from None
    values = batch if isinstance(batch, dict) else {}
    # Keys are bytes where Python 2 wrote the file, as the original ones, and text where Python 3 did.
    data = values.get(b"data", values.get("data"))
    labels = values.get(name.encode(), values.get(name))
    raw = getattr(data, "raw", None)
    pixels = math.prod(SHAPE)
    if not isinstance(raw, bytes) or not isinstance(labels, list) or not raw or len(raw) != len(labels) * pixels:
        raise InputError(f"data.dataset: {path}: must hold data, {pixels} bytes an image, and {name}. {what}")
    if not all(type(label) is int and 0 <= label < classes for label in labels):
        raise InputError(f"data.dataset: {path}: {name} must be from 0 to {classes - 1}. {what}")
    return np.frombuffer(raw, np.uint8).reshape(-1, *SHAPE), np.array(labels, dtype=np.int64)
