"""Your own images."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from edgefl.core.errors import InputError
from edgefl.core.paths import UserPath
from edgefl.learning.datasets.base import Data, Dataset, measured
from edgefl.learning.datasets.images import Files, class_names, images_by_class, read_images

TESTS = ("test", "val", "valid")  # the first one that is there


class ImageFolder(Dataset):
    """Your own images: path/train/CLASS/* and path/test/CLASS/*; or path/CLASS/*, every fifth is a test sample then."""

    path: UserPath  # Folder with a folder for each class.
    # Side of the squares to which images are resized; by default all must have one size already.
    side_px: Annotated[int, Field(ge=1, le=4096)] | None = None
    gray: bool = False  # Whether only the brightness is kept.

    def load(self) -> Data:
        """Read images as [3, H, W], or [H, W] if gray, standardised over all training pixels; classes by name."""
        train = self.path / "train"
        has_train = any(train.glob("*/"))  # "train" may also be the name of a class
        root = self.path
        test = None
        if has_train:
            root = train
            test = self._test_folder()
        names = class_names(root)
        files = images_by_class(root, names)
        if test is None:
            parts = every_fifth(files)
        else:
            parts = {"train": files, "test": _test_images(test, root, names)}
        if not parts["test"]:
            raise InputError(f"data.path: {root}: needs five images in a class to have one for testing")
        arrays = read_images("image_folder", parts, self.side_px, gray=self.gray)
        return Data(**arrays, classes=len(names), **measured(arrays["train_x"]))

    def _test_folder(self) -> Path | None:
        for name in TESTS:
            if (self.path / name).is_dir():
                return self.path / name
        return None


def _test_images(test: Path, train: Path, names: list[str]) -> Files:
    """Return the test images, which some classes may lack; refuse a class without training images."""
    # Labels are positions among the training classes; the test folder may lack some of them.
    test_names = class_names(test)
    unknown = sorted(set(test_names) - set(names))
    if unknown:
        raise InputError(f"data.path: {test / unknown[0]}: no such class in {train}")
    return [(path, names.index(test_names[label])) for path, label in images_by_class(test, test_names)]


def every_fifth(files: Files) -> dict[str, Files]:
    """Return training and test images: every fifth of each class is for testing."""
    parts: dict[str, Files] = {"train": [], "test": []}
    number: Counter[int] = Counter()  # of images of each class so far: every class gets its part in the test set
    for path, label in files:
        number[label] += 1
        is_fifth = number[label] % 5 == 0
        parts["test" if is_fifth else "train"].append((path, label))
    return parts
