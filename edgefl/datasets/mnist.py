"""MNIST."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from edgefl.datasets.base import Array, Data, Dataset, find
from edgefl.datasets.npz import checked, read_npz
from edgefl.errors import InputError

PIXEL_MEAN, PIXEL_STD = 0.1307 * 255, 0.3081 * 255
CLASSES = 10
RAW = {
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}
HELP = (
    "Put mnist.npz (train_x, train_y, test_x, test_y), or torchvision's folder MNIST/raw with the four files "
    f"{', '.join(RAW.values())}, into one of these folders, or name a folder with data.path or EDGEFL_DATA. "
    "With network: python -c \"import torchvision; torchvision.datasets.MNIST('FOLDER', download=True)\""
)


class Mnist(Dataset):
    """MNIST: 60,000 + 10,000 images 28x28 in 10 classes (LeCun et al., Proc. IEEE 1998)."""

    def load(self) -> Data:
        """From torchvision's raw files or from mnist.npz, standardised with 0.1307 and 0.3081."""
        found = find(self.path, [f"MNIST/raw/{RAW['train_x']}", "mnist.npz"], HELP)
        arrays = read_npz(found, CLASSES) if found.suffix == ".npz" else _read_raw(found.parent)
        return Data(**arrays, classes=CLASSES, mean=PIXEL_MEAN, std=PIXEL_STD)


def _read_raw(folder: Path) -> dict[str, Any]:
    return checked({name: read_idx(folder / file) for name, file in RAW.items()}, folder, CLASSES)


def read_idx(path: Path) -> Array:
    """The unsigned bytes of an IDX file, whose header is 0, 0, 8, the number of axes and each axis as a big-endian int.

    Raises:
        InputError: no such file, or it holds something else.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}") from None
    axes = content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    start = 4 + 4 * axes
    shape = np.frombuffer(content[4:start].ljust(4 * axes, b"\0"), ">i4")
    if not axes or len(content) - start != prod(shape.tolist()):
        raise InputError(f"data.dataset: {path}: is no whole IDX file of unsigned bytes")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()  # torch wants writable arrays
