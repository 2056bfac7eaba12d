"""MNIST and Fashion-MNIST, which comes in the same four files."""

from pathlib import Path

from edgefl.learning.datasets.base import Arrays, Data, Dataset, find, help_of
from edgefl.learning.datasets.idx import read_raw
from edgefl.learning.datasets.npz import checked, read_npz

CLASSES = 10
RAW = {  # the names under which LeCun published them; t10k: the test set of 10,000
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}


class Mnist(Dataset):
    """MNIST: 60,000 + 10,000 images 28x28 in 10 classes (LeCun et al., Proc. IEEE 1998)."""

    def load(self) -> Data:
        """Read torchvision's raw files or mnist.npz; standardised with 0.1307 and 0.3081."""
        arrays = raw_or_npz(self.path, "mnist", "MNIST/raw")
        return Data(**arrays, classes=CLASSES, mean=0.1307 * 255, std=0.3081 * 255)


class FashionMnist(Dataset):
    """Fashion-MNIST: 60,000 + 10,000 images 28x28 of clothes in 10 classes (Xiao et al., arXiv:1708.07747)."""

    def load(self) -> Data:
        """Read torchvision's raw files or fashion_mnist.npz; standardised with 0.2861 and 0.3530."""
        arrays = raw_or_npz(self.path, "fashion_mnist", "FashionMNIST/raw")
        return Data(**arrays, classes=CLASSES, mean=0.2861 * 255, std=0.3530 * 255)


def raw_or_npz(path: Path | None, name: str, folder: str) -> Arrays:
    """Return a dataset's arrays from the four files in torchvision's folder, or from its .npz file."""
    what = help_of(name)
    first = RAW["train_x"]  # stands for all four: `read_raw` tells which one is missing
    candidates = [f"{folder}/{first}", f"{folder}/{first}.gz", f"{name}.npz"]
    found = find(path, candidates, what, [first, f"{first}.gz"], fetched_as=name)
    if found.suffix == ".npz":
        return read_npz(found, CLASSES)
    return checked(read_raw(found.parent, RAW, what), found.parent, CLASSES)
