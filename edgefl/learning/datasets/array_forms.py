"""Remedies for samples and labels in another form than a dataset's: texts, one-hot rows, bytes as int64.

Each remedy is a piece of Python for `x`, `y`, or the four arrays by their names.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Sorted texts get the numbers 0 to K-1, the same in both sets.
NUMBERING = (
    "number those of both sets together: "
    "train_y, test_y = np.split(np.unique([*train_y, *test_y], return_inverse=True)[1], [len(train_y)])"
)


def as_samples(x: Array) -> str:
    """Return how an array of another type or shape becomes samples, as the end of a message; "" if that is unknown."""
    if x.ndim == 1 and x.dtype.kind in "biuf":
        return ": say x[:, np.newaxis]"
    if x.dtype.kind in "biuf" or (x.dtype.kind in "US" and _are_numbers(x)):
        return ": say x.astype(np.float32)"
    return ""


def as_labels(x: Array, y: Array) -> str:
    """Return how an array of another shape becomes labels [n] of samples x [n, ...], as the end of a message."""
    if x.ndim > 1 and y.ndim == 1 and x.shape[-1] == len(y):
        return ": if the last axis of x counts the samples, say np.moveaxis(x, -1, 0)"
    if y.ndim != 2 or y.dtype.kind not in "biu":
        return ""
    if y.shape[1] == 1:
        return ": say np.ravel(y)"
    if _are_one_hot(y):
        return ": say np.argmax(y, axis=1)"
    return ""


def as_classes(y: Array) -> str:
    """Return how labels of another type become classes, as the end of a message; "" if that is unknown."""
    if y.dtype.kind == "b" or (y.dtype.kind in "US" and _are_numbers(y)):
        return ": say y.astype(int)"
    if y.dtype.kind in "USM":
        return f": {NUMBERING}"
    return ""


def floats_as_classes(y: Array) -> str:
    """Return how floating-point labels [n] or [n, k] become classes: "say y.astype(int)"."""
    if y.ndim == 2 and y.shape[1] > 1 and np.allclose(y.sum(axis=1), 1) and y.min() >= 0:
        return "say np.argmax(y, axis=1)"
    if np.array_equal(y, np.round(y)):
        is_column = y.ndim == 2 and y.shape[1] == 1
        return "say np.ravel(y).astype(int)" if is_column else "say y.astype(int)"
    return "use whole numbers"


def _are_numbers(texts: Array) -> bool:
    try:
        texts.astype(float)
    except ValueError:
        return False
    return True


def _are_one_hot(y: Array) -> bool:
    return bool(y.size and (np.count_nonzero(y, axis=1) == 1).all() and y.max() == 1)
