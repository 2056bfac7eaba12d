"""Anyone's own arrays."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.datasets.base import Array, Data, Dataset
from edgefl.errors import InputError
from edgefl.paths import UserPath
from edgefl.section import fault

NAMES = ("train_x", "train_y", "test_x", "test_y")


class Npz(Dataset):
    """Your own arrays: a NumPy .npz file with train_x, train_y, test_x, test_y (labels are integers from 0)."""

    path: UserPath | None = None

    def model_post_init(self, context: Any) -> None:
        """A path must be given."""
        if self.path is None:
            raise fault("needs path: the .npz file")

    def load(self) -> Data:
        """uint8 samples are standardised over all training values; floating-point samples are taken as they are."""
        assert self.path is not None  # noqa: S101 - model_post_init
        arrays = read_npz(self.path)
        mean, std = 0.0, 1.0
        if arrays["train_x"].dtype == np.uint8:
            mean, std = float(arrays["train_x"].mean()), max(float(arrays["train_x"].std()), 1.0)
        classes = int(max(arrays["train_y"].max(), arrays["test_y"].max())) + 1
        return Data(**arrays, classes=classes, mean=mean, std=std)


def read_npz(path: Path) -> dict[str, Any]:
    """The four arrays, checked.

    Raises:
        InputError: no such file, or wrong arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in NAMES if name in file.files}
    except OSError as error:
        raise InputError(f"data.path: {path}: {error.strerror or 'cannot be read'}") from None
    except (ValueError, zipfile.BadZipFile, EOFError):
        raise InputError(f"data.path: {path}: is no .npz file of plain arrays") from None
    missing = [name for name in NAMES if name not in arrays]
    if missing:
        raise InputError(f"data.path: {path}: lacks {', '.join(missing)}; needed: {', '.join(NAMES)}")
    for part in ("train", "test"):
        problem = _problem(arrays[f"{part}_x"], arrays[f"{part}_y"])
        if problem:
            raise InputError(f"data.path: {path}: {part}: {problem}")
        arrays[f"{part}_y"] = arrays[f"{part}_y"].astype(np.int64)
    if arrays["train_x"].shape[1:] != arrays["test_x"].shape[1:]:
        shapes = f"{arrays['train_x'].shape[1:]} and {arrays['test_x'].shape[1:]}"
        raise InputError(f"data.path: {path}: train and test samples differ in shape: {shapes}")
    return arrays


def _problem(x: Array, y: npt.NDArray[Any]) -> str | None:  # noqa: PLR0911 - a list of checks
    """What is wrong with samples and labels, if anything."""
    if x.ndim < 2 or len(x) == 0:
        return f"x must be [samples, ...] with at least one sample, got shape {x.shape}"
    if x.dtype != np.uint8 and not np.issubdtype(x.dtype, np.floating):
        return f"x must be uint8 or floating point, got {x.dtype}"
    if y.shape != x.shape[:1]:
        return f"y must be [{len(x)}], one label a sample, got shape {y.shape}"
    if not np.issubdtype(y.dtype, np.integer):
        return f"y must hold integer labels, got {y.dtype}"
    if y.min() < 0:
        return f"labels count from 0, got {y.min()}"
    if np.issubdtype(x.dtype, np.floating) and not np.isfinite(x).all():
        return "x holds NaN or infinite values"
    return None
