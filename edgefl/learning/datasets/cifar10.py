"""CIFAR-10."""

import logging
from functools import cache
from pathlib import Path

from edgefl.learning.datasets.base import Data, Dataset, find, missing_samples, standardisation
from edgefl.learning.datasets.cifar import read_batches
from edgefl.learning.datasets.npz import read_npz

log = logging.getLogger("edgefl")

CLASSES = 10
TRAIN = 50_000
TEST = 10_000
MEANS = (0.491, 0.482, 0.447)  # of each channel over the training set, on the scale of 0 to 1
STDS = (0.247, 0.243, 0.262)
FOLDER = "cifar-10-batches-py"
BATCHES = [f"data_batch_{number}" for number in range(1, 6)]
HELP = (
    f"Put cifar10.npz or cifar10_12k.npz (train_x, train_y, test_x, test_y), or the folder {FOLDER} of "
    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz, into one of these folders, or name a folder with "
    "data.path or EDGEFL_DATA"
)


class Cifar10(Dataset):
    """CIFAR-10: 50,000 + 10,000 colour images 32x32 in 10 classes (Krizhevsky, 2009)."""

    def load(self) -> Data:
        """Read the Python batches, or a .npz with all images or a part of them; [3, 32, 32]."""
        candidates = [f"{FOLDER}/{BATCHES[0]}", "cifar10.npz", "cifar10_12k.npz"]
        found = find(self.path, candidates, HELP, [BATCHES[0], "test_batch"], fetched_as="cifar10")
        if found.suffix == ".npz":
            arrays = read_npz(found, CLASSES)
        else:
            train = [found.with_name(name) for name in BATCHES]
            arrays = read_batches(train, found.with_name("test_batch"), "labels", CLASSES, HELP)
        lacks = missing_samples(arrays, TRAIN, TEST)
        if lacks:
            _warn_once(found, lacks)
        return Data(**arrays, classes=CLASSES, **standardisation(MEANS, STDS), lacks=lacks)


@cache
def _warn_once(found: Path, lacks: str) -> None:
    """Warn of missing samples once in a process, which may run many scenarios."""
    log.warning("data: %s lacks %s of CIFAR-10", found, lacks)
