"""Anyone's own arrays."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgefl.datasets.base import MOST_CLASSES, Array, Data, Dataset, problem
from edgefl.errors import InputError
from edgefl.paths import UserPath

NAMES = ("train_x", "train_y", "test_x", "test_y")


class Npz(Dataset):
    """Your own arrays: a NumPy .npz file with train_x, train_y, test_x, test_y (labels are integers from 0)."""

    path: UserPath

    def load(self) -> Data:
        """uint8 samples are standardised over all training values; numbers and token ids are taken as they are."""
        arrays = read_npz(self.path)
        mean, std = 0.0, 1.0
        if arrays["train_x"].dtype == np.uint8:
            mean, std = float(arrays["train_x"].mean()), max(float(arrays["train_x"].std()), 1.0)
        classes = int(max(arrays["train_y"].max(), arrays["test_y"].max())) + 1
        return Data(**arrays, classes=classes, mean=mean, std=std)


def read_npz(path: Path, most_classes: int = MOST_CLASSES) -> dict[str, Any]:
    """The four arrays, checked.

    Raises:
        InputError: no such file, or wrong arrays.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in NAMES if name in file.files}
    except OSError as error:
        raise InputError(f"data.path: {path}: {error.strerror or 'cannot be read'}") from None
    except (AttributeError, EOFError, TypeError, ValueError, zipfile.BadZipFile, zlib.error):
        raise InputError(f"data.path: {path}: is no .npz file of plain arrays") from None
    missing = [name for name in NAMES if name not in arrays]
    if missing:
        raise InputError(f"data.path: {path}: lacks {', '.join(missing)}; needed: {', '.join(NAMES)}")
    return checked(arrays, path, most_classes)


def checked(arrays: Mapping[str, Array], path: Path, most_classes: int) -> dict[str, Any]:
    """The arrays with labels and token ids as int64.

    Raises:
        InputError: they are not samples and labels.
    """
    for part in ("train", "test"):
        if reason := problem(arrays[f"{part}_x"], arrays[f"{part}_y"], most_classes):
            raise InputError(f"data.path: {path}: {part}: {reason}")
    shapes = arrays["train_x"].shape[1:], arrays["test_x"].shape[1:]
    if shapes[0] != shapes[1]:
        raise InputError(f"data.path: {path}: train and test samples differ in shape: {shapes[0]} and {shapes[1]}")
    whole = {name for name, array in arrays.items() if name.endswith("_y") or array.dtype == np.int32}
    return {name: array.astype(np.int64) if name in whole else array for name, array in arrays.items()}
