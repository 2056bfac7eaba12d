"""Remedies for samples and labels in another form than a dataset's: texts, one-hot rows, bytes as int64.

Each remedy is a piece of Python for `x`, `y`, or the four arrays by their names.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Sorted texts get the numbers 0 to K-1, the same in both sets.
NUMBERING = (
    "number those of both sets together: "
    "train_y, test_y = np.split(np.unique([*train_y, *test_y], return_inverse=True)[1], [len(train_y)])"
)


SPLIT = "train_x, test_x = np.split(pd.get_dummies(pd.concat([train_x, test_x])).to_numpy(np.float32), [len(train_x)])"


def as_arrays(value: Any) -> str:
    """Return how an object of another library becomes arrays, as the end of a message; "" if that is unknown."""
    kinds = {kind.__name__ for kind in type(value).__mro__ if kind.__module__.startswith("torch.utils.data")}
    if "DataLoader" in kinds:
        return ": say x, y = map(torch.cat, zip(*loader))"
    if "Dataset" in kinds:
        return ": say x, y = next(iter(torch.utils.data.DataLoader(dataset, batch_size=len(dataset))))"
    if hasattr(value, "toarray"):  # a sparse matrix of SciPy
        return ": say .toarray()"
    if hasattr(value, "dtypes") and hasattr(value, "columns"):  # a table of pandas with columns of texts
        return f": to give each text a column of its own say {SPLIT}"
    return ""


def as_dataset(value: Any) -> str:
    """Return what to write instead of arrays or a mapping as the dataset, as the end of a message; "" if unknown."""
    if isinstance(value, list) and all(isinstance(part, list | tuple) and len(part) in (2, 4) for part in value):
        return ": give edgefl.client_arrays(clients, test_x, test_y)"
    is_four = isinstance(value, tuple | list) and len(value) == 4
    if is_four or (isinstance(value, Mapping) and "train_x" in value) or as_arrays(value):
        return ": give edgefl.arrays(train_x, train_y, test_x, test_y)"
    return ""


def as_four(found: Any) -> str:
    """Return how what a function returns becomes four arrays, as the end of a message; "" if that is unknown."""
    if not isinstance(found, tuple | list) or len(found) < 2:
        return as_arrays(found)
    if all(isinstance(part, tuple | list) and len(part) == 2 for part in found):
        return ": join the two pairs, return (*train, *test)"
    return as_arrays(found[0])


def as_owners(owner: Array, name: str, *, both: bool) -> str:
    """Return how an array of another type becomes owners [n], as the end of a message; "" if that is unknown."""
    if owner.ndim == 1 and owner.dtype.kind == "f" and np.array_equal(owner, np.round(owner)):
        return f": say {name}.astype(int)"
    if owner.ndim != 1 or owner.dtype.kind not in "US":
        return ""
    if both:
        numbers = "np.unique([*owner, *test_owner], return_inverse=True)[1]"
        return f": say owner, test_owner = np.split({numbers}, [len(owner)])"
    return f": say np.unique({name}, return_inverse=True)[1]"


def as_samples(x: Array) -> str:
    """Return how an array of another type or shape becomes samples, as the end of a message; "" if that is unknown."""
    if x.ndim > 0 and not len(x):
        return ": hold some samples back for it"
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
