"""CIFAR-10 as a zip archive of lossless mosaics, which is smaller than its batches by two fifths."""

import io
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgefl.core.errors import InputError
from edgefl.core.files import opened
from edgefl.learning.datasets.base import Arrays
from edgefl.learning.datasets.cache import cached
from edgefl.learning.datasets.npz import checked

ROWS = 40  # of images in a mosaic
COLUMNS = 50
SIDE_PX = 32  # of an image
FORM = "labels.npz with train_y and test_y, and mosaics of 40 x 50 images in train/*.webp and test/*.webp"


def read_mosaics(path: Path, classes: int) -> Arrays:
    """Return the four arrays of an archive, decoded once on a machine: images [n, 3, 32, 32] uint8 and labels [n].

    The images of the mosaics, by name and row by row, are those of the labels; what follows the last label is empty.

    Raises:
        InputError: it is not such an archive.
    """
    return checked(cached("cifar10", "mosaics", [path], lambda: _decoded(path)), path, classes)


def _decoded(path: Path) -> Arrays:
    arrays: Arrays = {}
    try:
        with opened(path) as stream, zipfile.ZipFile(stream) as archive:
            with np.load(io.BytesIO(archive.read("labels.npz")), allow_pickle=False) as labels:
                for part in ("train", "test"):
                    arrays[f"{part}_y"] = labels[f"{part}_y"]
            for part in ("train", "test"):
                names = sorted(name for name in archive.namelist() if name.startswith(f"{part}/"))
                images = np.concatenate([_images(archive.read(name)) for name in names])
                arrays[f"{part}_x"] = images[: len(arrays[f"{part}_y"])]
    except Exception as error:  # noqa: BLE001 - a damaged archive or image can raise anything
        problem = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"data.dataset: {path}: must be a zip archive of {FORM} ({problem})") from None
    return arrays


def _images(mosaic: bytes) -> npt.NDArray[np.uint8]:
    """Return the images [2000, 3, 32, 32] of an encoded mosaic, row by row."""
    from PIL import Image  # only datasets of image files need it

    with Image.open(io.BytesIO(mosaic)) as image:
        pixels = np.asarray(image.convert("RGB"))
    tiles = pixels.reshape(ROWS, SIDE_PX, COLUMNS, SIDE_PX, 3)
    return tiles.transpose(0, 2, 4, 1, 3).reshape(-1, 3, SIDE_PX, SIDE_PX)
