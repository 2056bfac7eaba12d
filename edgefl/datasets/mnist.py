"""MNIST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgefl.datasets.base import Data, Dataset, find
from edgefl.datasets.npz import read_npz
from edgefl.errors import InputError

PIXEL_MEAN, PIXEL_STD = 0.1307 * 255, 0.3081 * 255
HELP = (
    "Put mnist.npz (train_x, train_y, test_x, test_y), or torchvision's folder MNIST/raw with the four files "
    "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte, into one of "
    "these folders, or name a folder with data.path or EDGEFL_DATA. With network: "
    "python -c \"import torchvision; torchvision.datasets.MNIST('FOLDER', download=True)\""
)


class Mnist(Dataset):
    """MNIST: 60,000 + 10,000 images 28x28 in 10 classes (LeCun et al., Proc. IEEE 1998)."""

    def load(self) -> Data:
        """From torchvision's raw files or from mnist.npz, standardised with 0.1307 and 0.3081."""
        found = find(self.path, ["MNIST/raw", "mnist.npz"], HELP)
        arrays = _read_raw(found.parent.parent) if found.is_dir() else read_npz(found)
        return Data(**arrays, classes=10, mean=PIXEL_MEAN, std=PIXEL_STD)


def _read_raw(root: Path) -> dict[str, Any]:
    from torchvision.datasets import MNIST

    try:
        sets = {part: MNIST(str(root), train=part == "train") for part in ("train", "test")}
    except (RuntimeError, OSError) as error:
        raise InputError(f"data.dataset: {root}/MNIST/raw: {error}. {HELP}") from None
    samples = {f"{part}_x": images.data.numpy() for part, images in sets.items()}
    return samples | {f"{part}_y": images.targets.numpy().astype(np.int64) for part, images in sets.items()}
