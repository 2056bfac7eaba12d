"""Street View House Numbers."""

import zlib
from pathlib import Path

import numpy as np

from edgefl.core.errors import InputError
from edgefl.core.files import check_plain
from edgefl.learning.datasets.base import Arrays, Data, Dataset, find, help_of, standardisation
from edgefl.learning.datasets.cache import cached
from edgefl.learning.datasets.npz import checked, read_npz

CLASSES = 10
MEANS = (0.4377, 0.4438, 0.4728)  # of each channel, on the scale of 0 to 1
STDS = (0.1980, 0.2010, 0.1970)
FILES = {"train": "train_32x32.mat", "test": "test_32x32.mat"}
HELP = help_of("svhn")


class Svhn(Dataset):
    """SVHN: 73,257 + 26,032 colour images 32x32 of house numbers' digits (Netzer et al., NIPS workshop 2011)."""

    def load(self) -> Data:
        """Read MATLAB's files or svhn.npz; class c is the digit c; [3, 32, 32]."""
        candidates = [f"{folder}{FILES['train']}" for folder in ("", "svhn/", "SVHN/")]
        found = find(self.path, [*candidates, "svhn.npz"], HELP, fetched_as="svhn")
        if found.suffix == ".npz":
            arrays = read_npz(found, CLASSES)
        else:
            paths = {part: found.with_name(name) for part, name in FILES.items()}
            arrays = cached("svhn", None, paths.values(), lambda: _read(paths))
        return Data(**arrays, classes=CLASSES, **standardisation(MEANS, STDS))


def _read(paths: dict[str, Path]) -> Arrays:
    """Read samples from X [32, 32, 3, n] and labels from y [n, 1]; the digit 0 has the label 10 in the files."""
    # Imported here: only this dataset needs MATLAB's format.
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    arrays: Arrays = {}
    for part, path in paths.items():
        try:
            check_plain(path)
            content = loadmat(str(path), variable_names=["X", "y"])
            x = content["X"]
            y = content["y"]
        except (OSError, LookupError, ValueError, TypeError, NotImplementedError, EOFError, MatReadError, zlib.error):
            raise InputError(f"data.dataset: {path}: is not a whole MATLAB file with X and y. {HELP}") from None
        if x.ndim != 4 or x.dtype != np.uint8 or y.size != x.shape[-1] or not np.isin(y, range(1, 11)).all():
            raise InputError(
                f"data.dataset: {path}: must hold X [32, 32, 3, n] of bytes and y [n] from 1 to 10. {HELP}"
            )
        # MATLAB counts samples along the last axis and has channels last.
        arrays[f"{part}_x"] = np.ascontiguousarray(x.transpose(3, 2, 0, 1))
        arrays[f"{part}_y"] = y.ravel().astype(np.int64) % 10  # 10 is the digit 0
    return checked(arrays, paths["train"], CLASSES)
