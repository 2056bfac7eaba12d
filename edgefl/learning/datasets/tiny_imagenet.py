"""Tiny ImageNet."""

from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.learning.datasets.base import Data, Dataset, find, help_of, standardisation
from edgefl.learning.datasets.images import Files, class_names, images_by_class, read_images
from edgefl.learning.datasets.npz import read_npz

MEANS = (0.4802, 0.4481, 0.3975)  # of each channel, on the scale of 0 to 1
STDS = (0.2770, 0.2691, 0.2821)
MOST_CLASSES = 200
ANNOTATIONS = "val_annotations.txt"
HELP = help_of("tiny_imagenet")


class TinyImageNet(Dataset):
    """Tiny ImageNet: 100,000 + 10,000 (its validation set) colour images 64x64 in 200 classes (Stanford CS231n)."""

    def load(self) -> Data:
        """Read the archive's folders, or a .npz; classes are in the order of their WordNet ids; [3, 64, 64]."""
        found = find(self.path, ["tiny-imagenet-200/train", "tiny_imagenet.npz"], HELP, ["train"])
        if found.suffix == ".npz":
            arrays = read_npz(found, MOST_CLASSES)
            classes = int(max(arrays["train_y"].max(), arrays["test_y"].max())) + 1
        else:
            names = class_names(found)
            # Its test set has no labels, so the validation set is for testing.
            parts = {"train": images_by_class(found, names), "test": annotated(found.with_name("val"), names)}
            arrays = read_images("tiny_imagenet", parts)
            classes = len(names)
        return Data(**arrays, classes=classes, **standardisation(MEANS, STDS))


def annotated(folder: Path, names: list[str]) -> Files:
    """Return the validation images with the classes from val_annotations.txt (file, class, and a bounding box)."""
    path = folder / ANNOTATIONS
    try:
        rows = [line.split("\t") for line in read_bytes(path).decode().splitlines()]
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}. {HELP}") from None
    except UnicodeDecodeError:
        raise InputError(f"data.dataset: {path}: is not a text file") from None
    labels = {name: label for label, name in enumerate(names)}
    for number, row in enumerate(rows, 1):
        if len(row) < 2 or row[1] not in labels:
            raise InputError(f"data.dataset: {path}:{number}: must be a file and one of the classes in train")
    if not rows:
        raise InputError(f"data.dataset: {path}: is empty")
    # Images lie flat in one folder, as in the archive, or in a folder for each class, as many scripts sort them.
    flat = folder / "images"
    is_flat = flat.is_dir()
    files = []
    for row in rows:
        name, label = row[:2]
        path = flat / name if is_flat else folder / label / name
        files.append((str(path), labels[label]))
    return files
