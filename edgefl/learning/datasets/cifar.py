"""CIFAR-10 and CIFAR-100: their Python batches are pickles, read without running any code that they name."""

import io
import logging
import math
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.core.mapping_files import check_pickle
from edgefl.learning.datasets.base import Arrays, Data, Dataset, find, help_of, missing_samples, standardisation
from edgefl.learning.datasets.mosaics import read_mosaics
from edgefl.learning.datasets.npz import read_npz

log = logging.getLogger("edgefl")

SHAPE = (3, 32, 32)  # in the file's order: all of red, then green, then blue
BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))


class Cifar10(Dataset):
    """CIFAR-10: 50,000 + 10,000 colour images 32x32 in 10 classes (Krizhevsky, 2009)."""

    def load(self) -> Data:
        """Read the Python batches, or a .npz or mosaics with all images or a part of them; [3, 32, 32]."""
        remedy = help_of("cifar10")
        candidates = [f"cifar-10-batches-py/{BATCHES[0]}", "cifar10.npz", "cifar10_webp.zip", "cifar10_12k.npz"]
        found = find(self.path, candidates, remedy, [BATCHES[0], "test_batch"], fetched_as="cifar10")
        if found.suffix == ".npz":
            arrays = read_npz(found, 10)
        elif found.suffix == ".zip":
            arrays = read_mosaics(found, 10)
        else:
            train = [found.with_name(name) for name in BATCHES]
            arrays = read_batches(train, found.with_name("test_batch"), "labels", 10, remedy)
        lacks = missing_samples(arrays, train=50_000, test=10_000)
        if lacks:
            _warn_once(found, lacks)
        return Data(**arrays, classes=10, **standardisation((0.491, 0.482, 0.447), (0.247, 0.243, 0.262)), lacks=lacks)


@cache
def _warn_once(found: Path, lacks: str) -> None:
    """Warn of missing samples once in a process, which may run many scenarios."""
    log.warning("data: %s lacks %s of CIFAR-10", found, lacks)


class Cifar100(Dataset):
    """CIFAR-100: 50,000 + 10,000 colour images 32x32 in 100 fine or 20 coarse classes (Krizhevsky, 2009)."""

    labels: Literal["fine", "coarse"] = "fine"  # Which of the two labels of each image are learned.

    def load(self) -> Data:
        """Read the Python batches, or a .npz with fine labels; [3, 32, 32]."""
        classes = 20
        candidates = ["cifar-100-python/train"]
        if self.labels == "fine":
            classes = 100
            candidates.append("cifar100.npz")
        remedy = help_of("cifar100")
        found = find(self.path, candidates, remedy, ["train"], fetched_as="cifar100")
        if found.suffix == ".npz":
            arrays = read_npz(found, classes)
        else:
            name = f"{self.labels}_labels"
            arrays = read_batches([found.with_name("train")], found.with_name("test"), name, classes, remedy)
        return Data(**arrays, classes=classes, **standardisation((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)))


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
    """Reads plain values, and arrays as `_Bytes`; refuses anything else that a file names."""

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


def read_batches(train: Sequence[Path], test: Path, labels: str, classes: int, what: str) -> Arrays:
    """Return the arrays of a dataset from its batches: images [n, 3, 32, 32] uint8 and labels [n].

    The files hold them under the name `labels`; `what` says in a message what to download and where to put it.
    """
    arrays: Arrays = {}
    for part, paths in (("train", train), ("test", [test])):
        batches = [_read(path, labels, classes, what) for path in paths]
        arrays[f"{part}_x"] = np.concatenate([x for x, _ in batches])
        arrays[f"{part}_y"] = np.concatenate([y for _, y in batches])
    return arrays


def _read(path: Path, name: str, classes: int, what: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    try:
        content = read_bytes(path)
        check_pickle(content)
        batch = _Unpickler(io.BytesIO(content), encoding="bytes").load()
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
