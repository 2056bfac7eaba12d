"""Anyone's own images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from edgefl.core.errors import InputError
from edgefl.core.paths import UserPath
from edgefl.learning.datasets.base import Data, Dataset, measured
from edgefl.learning.datasets.images import Files, class_names, images_by_class, read_images

TESTS = ("test", "val", "valid")


class ImageFolder(Dataset):
    """Your own images: path/train/CLASS/* and path/test/CLASS/*; or path/CLASS/*, every fifth is a test sample then."""

    path: UserPath
    side_px: Annotated[int, Field(ge=1, le=4096)] | None = None  # resized to squares; None: all have one size already
    gray: bool = False

    def load(self) -> Data:
        """[3, H, W], or [H, W] if gray, standardised over all training pixels; classes in the order of their names."""
        train = self.path / "train"
        root = train if any(train.glob("*/")) else self.path  # "train" may also be a class
        names = class_names(root)
        test = next((self.path / name for name in TESTS if root == train and (self.path / name).is_dir()), None)
        files = images_by_class(root, names)
        parts = every_fifth(files) if test is None else {"train": files, "test": _known(test, root, names)}
        if not parts["test"]:
            raise InputError(f"data.path: {root}: needs five images in a class to have one for testing")
        arrays = read_images("image_folder", parts, self.side_px, gray=self.gray)
        return Data(**arrays, classes=len(names), **measured(arrays["train_x"]))


def _known(test: Path, train: Path, names: list[str]) -> Files:
    """The test images; not every class needs to have some.

    Raises:
        InputError: there is a class that is not in training.
    """
    here = class_names(test)
    if strange := sorted(set(here) - set(names)):
        raise InputError(f"data.path: {test / strange[0]}: no such class in {train}")
    return [(path, names.index(here[label])) for path, label in images_by_class(test, here)]


def every_fifth(files: Files) -> dict[str, Files]:
    """Training and test images: of each class, every fifth is for testing."""
    parts: dict[str, Files] = {"train": [], "test": []}
    seen: Counter[int] = Counter()
    for path, label in files:
        seen[label] += 1
        parts["test" if seen[label] % 5 == 0 else "train"].append((path, label))
    return parts
