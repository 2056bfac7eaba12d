"""Tiny ImageNet."""

from __future__ import annotations

from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.learning.datasets.base import Data, Dataset, find, standardisation
from edgefl.learning.datasets.images import Files, class_names, images_by_class, read_images
from edgefl.learning.datasets.npz import read_npz

MEANS, STDS = (0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821)
MOST_CLASSES = 200
ANNOTATIONS = "val_annotations.txt"
HELP = (
    "Unpack http://cs231n.stanford.edu/tiny-imagenet-200.zip into one of these folders, so that it holds "
    "tiny-imagenet-200/train and tiny-imagenet-200/val, or put tiny_imagenet.npz (train_x, train_y, test_x, test_y) "
    "there, or name a folder with data.path or EDGEFL_DATA"
)


class TinyImageNet(Dataset):
    """Tiny ImageNet: 100,000 + 10,000 (its validation set) colour images 64x64 in 200 classes (Stanford CS231n)."""

    def load(self) -> Data:
        """Classes in the order of their WordNet ids; [3, 64, 64]."""
        found = find(self.path, ["tiny-imagenet-200/train", "tiny_imagenet.npz"], HELP, ["train"])
        if found.suffix == ".npz":
            arrays = read_npz(found, MOST_CLASSES)
            classes = int(max(arrays["train_y"].max(), arrays["test_y"].max())) + 1
        else:
            names = class_names(found)
            parts = {"train": images_by_class(found, names), "test": annotated(found.with_name("val"), names)}
            arrays, classes = read_images("tiny_imagenet", parts), len(names)
        return Data(**arrays, classes=classes, **standardisation(MEANS, STDS))


def annotated(folder: Path, names: list[str]) -> Files:
    """The validation images with the classes that val_annotations.txt gives them (file, class, and a box).

    Raises:
        InputError: that file is not there, or names an unknown class.
    """
    path = folder / ANNOTATIONS
    try:
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}. {HELP}") from None
    except UnicodeDecodeError:
        raise InputError(f"data.dataset: {path}: is no text file") from None
    labels = {name: label for label, name in enumerate(names)}
    for number, row in enumerate(rows, 1):
        if len(row) < 2 or row[1] not in labels:
            raise InputError(f"data.dataset: {path}:{number}: must be a file and one of the classes in train")
    if not rows:
        raise InputError(f"data.dataset: {path}: is empty")
    # flat as in the archive, or sorted into folders of classes, as many scripts do
    images = folder / "images"
    return [(str(images / row[0] if images.is_dir() else folder / row[1] / row[0]), labels[row[1]]) for row in rows]
