"""CIFAR-100."""

from typing import Literal

from edgefl.learning.datasets.base import Data, Dataset, find, standardisation
from edgefl.learning.datasets.cifar import read_batches
from edgefl.learning.datasets.npz import read_npz

CLASSES = {"fine": 100, "coarse": 20}
MEANS = (0.5071, 0.4867, 0.4408)  # of each channel over the training set, on the scale of 0 to 1
STDS = (0.2675, 0.2565, 0.2761)
FOLDER = "cifar-100-python"
HELP = (
    f"Put cifar100.npz (train_x, train_y, test_x, test_y; fine labels), or the folder {FOLDER} of "
    "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz, into one of these folders, or name a folder with "
    "data.path or EDGEFL_DATA"
)


class Cifar100(Dataset):
    """CIFAR-100: 50,000 + 10,000 colour images 32x32 in 100 fine or 20 coarse classes (Krizhevsky, 2009)."""

    labels: Literal["fine", "coarse"] = "fine"  # Which of the two labels of each image are learned.

    def load(self) -> Data:
        """Read the Python batches, or a .npz with fine labels; [3, 32, 32]."""
        classes = CLASSES[self.labels]
        candidates = [f"{FOLDER}/train"]
        if self.labels == "fine":
            candidates.append("cifar100.npz")
        found = find(self.path, candidates, HELP, ["train"], fetched_as="cifar100")
        if found.suffix == ".npz":
            arrays = read_npz(found, classes)
        else:
            name = f"{self.labels}_labels"
            arrays = read_batches([found.with_name("train")], found.with_name("test"), name, classes, HELP)
        return Data(**arrays, classes=classes, **standardisation(MEANS, STDS))
