"""FEMNIST: EMNIST by writer."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from edgefl.core.errors import InputError
from edgefl.core.files import opened
from edgefl.learning.datasets.base import Array, Arrays, Data, Dataset, find, help_of
from edgefl.learning.datasets.cache import cached

CLASSES = 62
SIDE = 28
HELP = help_of("femnist")


class Femnist(Dataset):
    """FEMNIST: digits and letters 28x28 in 62 classes by writer, from LEAF's JSON (Caldas et al., arXiv:1812.01097)."""

    def defaults(self) -> dict[str, Any]:
        """Return one device for each writer."""
        return {"data": {"partition": {"kind": "natural"}}}

    def load(self) -> Data:
        """Read bright ink on black, as in MNIST, standardised as in FedEve's program; writers by their names."""
        candidates = ["femnist/train", "femnist/data/train", "leaf/data/femnist/data/train"]
        train = find(self.path, candidates, HELP, ["train", "data/train"])
        files = {part: sorted(train.with_name(part).glob("*.json")) for part in ("train", "test")}
        for part, paths in files.items():
            if not paths:
                raise InputError(f"data.dataset: {train.with_name(part)}: holds no .json files. {HELP}")
        arrays = cached("femnist", None, [*files["train"], *files["test"]], lambda: _read(files))
        return Data(**arrays, classes=CLASSES, mean=0.0365 * 255, std=0.1602 * 255)


def _read(files: dict[str, list[Path]]) -> Arrays:
    """Return all samples, writer after writer, with the number of each writer; -1: no training samples."""
    parts = {part: [_writers(path) for path in paths] for part, paths in files.items()}
    arrays: Arrays = {}
    trained: dict[str, int] = {}  # number of each writer who has training samples
    for part, found in parts.items():  # training first: it numbers the writers
        samples = {name: rows for writers in found for name, rows in writers.items()}
        # A dictionary keeps one of two entries of the same name.
        if len(samples) < sum(len(writers) for writers in found):
            raise InputError(f"data.dataset: {files[part][0].parent}: a writer is in two files")
        names = sorted(name for name, (_, y) in samples.items() if len(y))
        if not names:
            raise InputError(f"data.dataset: {files[part][0].parent}: holds no samples. {HELP}")
        arrays[f"{part}_x"] = np.concatenate([samples[name][0] for name in names])
        arrays[f"{part}_y"] = np.concatenate([samples[name][1] for name in names])
        if part == "train":
            trained = {name: number for number, name in enumerate(names)}
        numbers = [trained.get(name, -1) for name in names]
        counts = [len(samples[name][1]) for name in names]
        owner = "owner" if part == "train" else "test_owner"
        arrays[owner] = np.repeat(numbers, counts)
    return arrays


def _writers(path: Path) -> dict[str, tuple[Array, Array]]:
    try:
        with opened(path) as stream:
            users = json.load(stream)["user_data"]
        return {str(name): _samples(user) for name, user in users.items()}
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"data.dataset: {path}: is not a whole file of LEAF's FEMNIST ({problem}). {HELP}") from None


def _samples(user: dict[str, Any]) -> tuple[Array, Array]:
    """Return samples [n, 28, 28] uint8 and labels [n]; the file has 784 brightnesses from 0 (ink) to 1 (paper)."""
    x = np.array(user["x"], dtype=np.float64)
    y = np.array(user["y"])
    if not len(y):
        return np.empty((0, SIDE, SIDE), np.uint8), np.empty(0, np.int64)
    if x.shape != (len(y), SIDE * SIDE) or not (x.min() >= 0 and x.max() <= 1):
        raise ValueError(f"a user's x must be {SIDE * SIDE} numbers from 0 to 1 for each of its {len(y)} y")
    if y.dtype != np.int64 or y.min() < 0 or y.max() >= CLASSES:
        raise ValueError(f"y must be from 0 to {CLASSES - 1}")
    # LEAF divided bytes by 255, so this gives the very bytes back, with bright ink as in MNIST.
    return np.rint(255 * (1 - x)).astype(np.uint8).reshape(-1, SIDE, SIDE), y
