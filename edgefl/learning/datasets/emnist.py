"""EMNIST: handwritten letters and digits."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from edgefl.learning.datasets.base import Arrays, Data, Dataset, find, help_of, measured
from edgefl.learning.datasets.cache import cached
from edgefl.learning.datasets.idx import read_raw
from edgefl.learning.datasets.npz import checked, read_npz

CLASSES = {"letters": 26, "byclass": 62}  # letters: upper and lower case are one class
FIRST_LABEL = {"letters": 1, "byclass": 0}  # in the raw files


class Emnist(Dataset):
    """EMNIST: images 28x28 of 26 letters or, by class, of 62 digits and letters (Cohen et al., IJCNN 2017)."""

    split: Literal["letters", "byclass"] = "letters"  # Part of EMNIST. letters has 26 classes, byclass 62.
    # Number of classes that are kept; by default all. FedSSG's code has 10 letters.
    first_classes: Annotated[int, Field(ge=2, le=62)] | None = None

    def load(self) -> Data:
        """Read torchvision's raw files or .npz; images stand upright, standardised over all training pixels."""
        arrays = self._arrays()
        classes = CLASSES[self.split]
        if self.first_classes is not None and self.first_classes < classes:
            classes = self.first_classes
            arrays = _keep_first(arrays, classes)
        return Data(**arrays, classes=classes, **measured(arrays["train_x"]))

    def _arrays(self) -> Arrays:
        # A file of a part of the set is as good as the whole.
        npz = [f"emnist_{self.split}.npz", f"emnist_{self.split}_part.npz"]
        files = {}
        for part in ("train", "test"):
            files[f"{part}_x"] = f"emnist-{self.split}-{part}-images-idx3-ubyte"
            files[f"{part}_y"] = f"emnist-{self.split}-{part}-labels-idx1-ubyte"
        what = help_of("emnist").format(split=self.split)
        first = [files["train_x"], f"{files['train_x']}.gz"]
        found = find(self.path, [*(f"EMNIST/raw/{name}" for name in first), *npz], what, first, fetched_as="emnist")
        if found.suffix == ".npz":
            return read_npz(found, CLASSES[self.split])
        # All four files are .gz, or none is.
        packed = {name: found.parent / f"{file}{found.suffix}" for name, file in files.items()}
        return cached("emnist", self.split, packed.values(), lambda: self._raw(found.parent, files, what))

    def _raw(self, folder: Path, files: dict[str, str], what: str) -> Arrays:
        """Read the raw files, where images are transposed and letters count from 1."""
        arrays = read_raw(folder, files, what)
        for part in ("train", "test"):
            if arrays[f"{part}_x"].ndim == 3:  # whatever else it is, `checked` refuses
                arrays[f"{part}_x"] = np.ascontiguousarray(arrays[f"{part}_x"].transpose(0, 2, 1))
            arrays[f"{part}_y"] = arrays[f"{part}_y"].astype(np.int64) - FIRST_LABEL[self.split]
        return checked(arrays, folder, CLASSES[self.split])


def _keep_first(arrays: Arrays, classes: int) -> Arrays:
    kept = {}
    for part in ("train", "test"):
        wanted = arrays[f"{part}_y"] < classes
        kept[f"{part}_x"] = arrays[f"{part}_x"][wanted]
        kept[f"{part}_y"] = arrays[f"{part}_y"][wanted]
    return kept
