"""The base of datasets: arrays of samples and labels, and finding them on disk.

To add a dataset: a file with a subclass of `Dataset` whose `load` returns a `Data`, a line in `members.csv`, a test.
The fields of the class are its keys in the section `data`.
"""

import hashlib
import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from edgefl.core.catalogue import Member
from edgefl.core.errors import Unavailable
from edgefl.core.paths import UserPath, data_folders
from edgefl.core.streams import Streams
from edgefl.core.words import words_of
from edgefl.learning.datasets.array_forms import NUMBERING, as_classes, as_labels, as_samples

log = logging.getLogger("edgefl")

Array = npt.NDArray[Any]
Arrays = dict[str, Any]  # arrays of a `Data`, by name
IGNORED = -100  # label of a token or pixel that does not count, such as padding, as torch's cross_entropy has it
DIGESTED = ("train_x", "train_y", "test_x", "test_y", "owner", "test_owner", "mean", "std", "classes", "weight")


@dataclass(frozen=True)
class Data:
    """One dataset in memory; samples are kept as they are stored and normalised as (x - mean) / std for training."""

    train_x: Array  # [n, ...]
    # [n] classes from 0, int64; [n, T], [n, H, W]: of each token or pixel, `IGNORED` where none counts; or the float32
    # numbers [n] or [n, k] that regression predicts
    train_y: Array
    test_x: Array  # [m, ...]
    test_y: Array  # [m, ...], in the same form
    classes: int  # 0 where samples have no classes
    mean: float | npt.NDArray[np.float64] = 0.0  # in the units of x as stored; or by channel, [channels, 1, 1]
    std: float | npt.NDArray[np.float64] = 1.0
    owner: npt.NDArray[np.int64] | None = None  # [n] owner of each training sample, from 0, where samples have owners
    test_owner: npt.NDArray[np.int64] | None = None  # [m] of each test sample; -1: its owner has no training samples
    weight: npt.NDArray[np.float64] | None = None  # [n] of each training sample in its mini-batch's mean loss
    ranked: bool = False  # a user's test samples are ranked: the one with label 1 should come before those with label 0
    dtype: Literal["float32", "float64"] = "float32"  # that models learn from it in
    optimum: float | None = None  # of the scalar problem, where known
    lacks: str = ""  # how many samples of the published set its file lacks; "" if none

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return self.train_x.shape[1:]

    @property
    def regression(self) -> bool:
        """True if labels are numbers to predict, not classes."""
        return bool(np.issubdtype(self.train_y.dtype, np.floating))

    @property
    def several_labels(self) -> bool:
        """True if a sample has several labels, each a class: those of its tokens or pixels."""
        return not self.regression and self.train_y.ndim > 1

    @property
    def one_class_each(self) -> bool:
        """True if each sample has one class, so that samples can be counted and divided by it."""
        return bool(self.classes) and not self.several_labels

    @property
    def label_shape(self) -> tuple[int, ...]:
        """The shape of one sample's labels where it has several, such as (T,) or (H, W); otherwise ()."""
        if self.several_labels:
            return self.train_y.shape[1:]
        return ()

    @property
    def outputs(self) -> int:
        """The number of a model's outputs for a label: one for each class, or as many as a regression predicts."""
        if self.regression:
            return int(np.prod(self.train_y.shape[1:], dtype=np.int64))
        return self.classes

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of a network's outputs for one sample: (n,), or (n, T) or (n, H, W) where it has several labels."""
        return (self.outputs, *self.label_shape)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all arrays and numbers, with their names, shapes and types."""
        digest = hashlib.sha256()
        for name in DIGESTED:
            value = getattr(self, name)
            if value is None:
                continue
            array = np.ascontiguousarray(value)
            digest.update(f"{name} {array.shape} {array.dtype}".encode())
            digest.update(array.data)
        return digest.hexdigest()

    @property
    def tokens(self) -> bool:
        """True if samples are token ids."""
        return bool(np.issubdtype(self.train_x.dtype, np.signedinteger))

    def normalised(self, x: Array) -> Array:
        """Return a copy of samples [n, ...] of this dataset as a model gets them: token ids are not changed."""
        if self.tokens:
            return np.array(x)
        return np.asarray((x - self.mean) / self.std, dtype=self.dtype)


def counted_labels(y: Array) -> npt.NDArray[np.int64] | None:
    """Return how many labels of each sample count [n]: those of its tokens or pixels that are not `IGNORED`.

    None: samples have one label each, or numbers.
    """
    if y.ndim == 1 or np.issubdtype(y.dtype, np.floating):
        return None
    return np.asarray(np.count_nonzero(y.reshape(len(y), -1) != IGNORED, axis=1), dtype=np.int64)


def telling_rows(x: Array, count: int) -> npt.NDArray[np.int64]:
    """Return the rows [count] of samples x [n, ...] on which a network is tried: the first ones.

    Among token ids the sample with the largest one comes first, as a vocabulary may be too small for it.
    """
    rows = np.arange(count) % len(x)
    if np.issubdtype(x.dtype, np.signedinteger):
        rows[0] = x.reshape(len(x), -1).max(axis=1).argmax()
    return rows


class Dataset(Member):
    """Base of all datasets."""

    path: UserPath | None = None  # Folder or file of the data; by default the places that the guide names.

    only_in_python: ClassVar[bool] = False  # True: its keys do not say what it holds

    @classmethod
    def keys(cls) -> list[str]:
        """Return all keys of the section `data`: in YAML the dataset's keys stand beside the section's."""
        section = [
            "partition",
            "validation_share",
            "redivide",
            "test_partition",
            "augmentation",
            "channel_axis",
            "drift",
        ]
        return ["dataset", *super().keys(), *section]

    def defaults(self) -> dict[str, Any]:
        """Return scenario keys that this dataset implies where the file does not give them."""
        return {}

    def load(self) -> Data:
        """Read the dataset.

        Raises:
            InputError: its files are missing or damaged.
        """
        raise NotImplementedError


class _LocatedError(Exception):
    """Ends the load of a dataset where its first file is found."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path


# A context variable, not an argument, which all datasets would have to pass on to `find`.
_ONLY_LOCATE = ContextVar("only_locate", default=False)


def located(dataset: Dataset) -> Path | None:
    """Return the file or folder where `find` finds a dataset, without reading it; None if this machine lacks it."""
    token = _ONLY_LOCATE.set(True)
    try:
        dataset.load()
    except _LocatedError as found:
        return found.path
    except Unavailable:
        return None
    finally:
        _ONLY_LOCATE.reset(token)
    raise TypeError(f"{type(dataset).__name__} does not call find")


def find(
    path: Path | None, candidates: Sequence[str], what: str, inside: Sequence[str] = (), *, fetched_as: str = ""
) -> Path:
    """Return the first of `candidates` that exists in `path`, else in $EDGEFL_DATA, else in ~/.cache/edgefl.

    Args:
        path: the only folder to look in, or None; may also be one of the files itself.
        candidates: paths relative to a data folder, best first.
        what: what to download and where to put it, for the message.
        inside: paths relative to the dataset's folder, which `path` may name as well.
        fetched_as: its name in `edgefl data fetch`, if that downloads it.

    Raises:
        Unavailable: it is in none of them.
    """
    found = _search(path, candidates, inside)
    if found is not None:
        if _ONLY_LOCATE.get():
            raise _LocatedError(found)
        log.info("data: %s", found)
        return found
    folders = data_folders() if path is None else [path]
    looked = " or ".join(str(folder) for folder in folders)
    fetching = ""
    if fetched_as:
        fetching = f": `edgefl data fetch {fetched_as}` downloads it"
        if path is not None:  # the only folder that is looked in
            fetching = f": `edgefl data fetch {fetched_as} --to {path}` downloads it"
    raise Unavailable(f"data.dataset: not found in {looked}{fetching}. {what}")


def help_of(name: str) -> str:
    """Return which files of a dataset to put where, for the message of `find`."""
    text: str = words_of(__file__, "help.yaml")[name]
    return text


def _search(path: Path | None, candidates: Sequence[str], inside: Sequence[str]) -> Path | None:
    """Return the first of the candidates that exists, as `find` does; None if none does."""
    if path is not None and path.is_file():
        return path
    folders = data_folders()
    names = [*candidates]
    if path is not None:
        folders = [path]
        names += inside  # only a folder that the user named can be the dataset's
    for folder in folders:
        for candidate in names:
            if (folder / candidate).exists():
                return folder / candidate
    return None


# Types that `.npz` files may hold: those that training normalises or embeds, not objects.
SAMPLES = tuple(np.dtype(name) for name in ("uint8", "int32", "int64", "float16", "float32", "float64"))
MOST_CLASSES = 100_000
LARGEST = np.finfo(np.float32).max  # training is in 32 bits


def problem(x: Array, y: Array, most_classes: int = MOST_CLASSES) -> str | None:
    """Return what is wrong with samples and labels, or None."""
    # Lazy, because each check relies on those before it.
    checks: list[tuple[Callable[[], bool], str]] = [
        (
            lambda: x.ndim >= 2 and x.size > 0,
            f"x must be [samples, ...] with at least one sample, got shape {x.shape}{as_samples(x)}",
        ),
        (
            lambda: x.dtype in SAMPLES,
            f"x must be uint8, floating point of 16 to 64 bits, or int64 (token ids), got {x.dtype}{as_samples(x)}",
        ),
        (
            lambda: y.shape == x.shape[:1],
            f"y must be one label a sample, [{len(x) if x.ndim else 0}], got {y.shape}{as_labels(x, y)}",
        ),
        (lambda: np.issubdtype(y.dtype, np.integer), f"y must hold integer labels, got {y.dtype}{as_classes(y)}"),
        (lambda: y.min() >= 0, f"labels count from 0, got a negative one: {NUMBERING}"),
        (lambda: y.max() < most_classes, f"labels must be less than {most_classes}, the number of classes"),
        # Comparisons with NaN are false, so this one finds it, too.
        (lambda: -LARGEST <= x.min() <= x.max() <= LARGEST, "x holds NaN or values that are too large for 32 bits"),
    ]
    for holds, text in checks:
        if not holds():
            return text
    return None


def missing_samples(arrays: Arrays, train: int, test: int) -> str:
    """Return how many samples of a set with `train` and `test` samples are missing from its arrays; "" if none."""
    missing_train = max(train - len(arrays["train_y"]), 0)
    missing_test = max(test - len(arrays["test_y"]), 0)
    if not missing_train and not missing_test:
        return ""
    return f"{missing_train:,} of {train:,} training samples and {missing_test:,} of {test:,} test samples"


def standardisation(means: Sequence[float], stds: Sequence[float]) -> dict[str, Any]:
    """Return `Data`'s mean and std of each channel [channels, 1, 1] for bytes, from those on the scale of 0 to 1."""
    # Samples stay bytes in memory, so the statistics are brought to their scale.
    mean = 255.0 * np.array(means).reshape(-1, 1, 1)
    std = 255.0 * np.array(stds).reshape(-1, 1, 1)
    return {"mean": mean, "std": std}


def measured(x: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """Return `Data`'s mean and std over all values of x [n, ...], exactly; std is at least 1."""
    # A histogram is exact and small; in slices, as bincount turns its input into 64-bit numbers.
    counts = np.zeros(256)
    for begin in range(0, len(x), 1000):
        counts += np.bincount(x[begin : begin + 1000].ravel(), minlength=256)
    values = np.arange(256)
    mean = float(counts @ values / counts.sum())
    variance = counts @ (values - mean) ** 2 / counts.sum()
    return {"mean": mean, "std": max(float(np.sqrt(variance)), 1.0)}  # equal pixels must not be divided by 0


def generator(seed: int, name: str, entity: int) -> np.random.Generator:
    """Return the random generator of a dataset.

    It depends on the dataset's seed and not on the scenario's, so runs of all seeds learn from the same data.
    """
    # Keys of streams are numbers, so the name becomes one below 2^31.
    return Streams(seed).generator("dataset", int.from_bytes(name.encode(), "little") % 2**31, entity)
