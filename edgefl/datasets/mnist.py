"""MNIST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgefl.datasets.base import Data, Dataset, find
from edgefl.datasets.npz import checked, read_npz
from edgefl.errors import InputError

PIXEL_MEAN, PIXEL_STD = 0.1307 * 255, 0.3081 * 255
CLASSES = 10
RAW = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
HELP = (
    "Put mnist.npz (train_x, train_y, test_x, test_y), or torchvision's folder MNIST/raw with the four files "
    f"{', '.join(RAW)}, into one of these folders, or name a folder with data.path or EDGEFL_DATA. "
    "With network: python -c \"import torchvision; torchvision.datasets.MNIST('FOLDER', download=True)\""
)


class Mnist(Dataset):
    """MNIST: 60,000 + 10,000 images 28x28 in 10 classes (LeCun et al., Proc. IEEE 1998)."""

    def load(self) -> Data:
        """From torchvision's raw files or from mnist.npz, standardised with 0.1307 and 0.3081."""
        found = find(self.path, [f"MNIST/raw/{RAW[0]}", "mnist.npz"], HELP)
        arrays = read_npz(found, CLASSES) if found.suffix == ".npz" else _read_raw(found.parents[2])
        return Data(**arrays, classes=CLASSES, mean=PIXEL_MEAN, std=PIXEL_STD)


def _read_raw(root: Path) -> dict[str, Any]:
    """The arrays of torchvision's folder, read by torchvision.

    Raises:
        InputError: a file is missing or damaged.
    """
    from torchvision.datasets import MNIST

    try:
        sets = {part: MNIST(str(root), train=part == "train") for part in ("train", "test")}
    except (RuntimeError, OSError, AssertionError, ValueError, LookupError) as error:
        raw, problem = root / "MNIST" / "raw", " ".join(str(error).split())
        raise InputError(f"data.dataset: {raw}: not the four whole files of MNIST ({problem}). {HELP}") from None
    samples = {f"{part}_x": images.data.numpy() for part, images in sets.items()}
    labels = {f"{part}_y": images.targets.numpy() for part, images in sets.items()}
    return checked({**samples, **labels}, root / "MNIST" / "raw", CLASSES)
