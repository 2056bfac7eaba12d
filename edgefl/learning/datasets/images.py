"""Reading image files in folders, one folder for each class."""

import io
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.learning.datasets.base import Arrays
from edgefl.learning.datasets.cache import cached

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"}

Files = list[tuple[str, int]]  # path and class of each image


def class_names(folder: Path) -> list[str]:
    """Return the names of the folders in a folder, sorted: class c is the c-th.

    Raises:
        InputError: it cannot be read, or there are none.
    """
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    except OSError as error:
        raise InputError(f"data.dataset: {folder}: {error.strerror}") from None
    if not names:
        raise InputError(f"data.dataset: {folder}: holds no folders; needed: one of images for each class")
    return names


def images_by_class(folder: Path, names: Sequence[str]) -> Files:
    """Return the images of each class, sorted by path; they may lie in folders below the class's.

    Raises:
        InputError: a class has no images.
    """
    files: Files = []
    for label, name in enumerate(names):
        images = sorted(_images_below(folder / name))
        if not images:
            raise InputError(f"data.dataset: {folder / name}: holds no images ({', '.join(sorted(SUFFIXES))})")
        files += [(path, label) for path in images]
    return files


def _images_below(folder: Path) -> list[str]:
    """Return the paths of all images below a folder, as texts: a Path costs too much for a million files."""
    images = []
    for top, _, names in os.walk(folder):
        for name in names:
            if os.path.splitext(name)[1].lower() in SUFFIXES:  # noqa: PTH122
                images.append(os.path.join(top, name))  # noqa: PTH118, PERF401
    return images


def read_images(name: str, parts: Mapping[str, Files], side_px: int | None = None, *, gray: bool = False) -> Arrays:
    """Return the four arrays of a dataset, decoded once: x [n, 3, H, W] uint8, or [n, H, W] if gray; y [n].

    The `parts` are the images of "train" and "test", resized to squares of `side_px`, or all of one size.

    Raises:
        InputError: an image cannot be read, or has another size than the first.
    """
    sources = [Path(path) for files in parts.values() for path, _ in files]
    labels = [label for files in parts.values() for _, label in files]

    def make() -> Arrays:
        size: tuple[int, ...]  # height, width
        if side_px:
            size = (side_px, side_px)
        else:
            size = _decoded(str(sources[0]), None, gray=gray).shape[:2]  # all others must be like the first
        arrays: Arrays = {}
        for part, files in parts.items():
            arrays[f"{part}_x"] = _stacked([path for path, _ in files], size, side_px, gray=gray)
            arrays[f"{part}_y"] = np.array([label for _, label in files], dtype=np.int64)
        return arrays

    # The same files divided otherwise, or with other labels, make other arrays.
    sizes = [len(files) for files in parts.values()]
    return cached(name, (side_px, gray, sizes, labels), sources, make)


def _stacked(paths: Sequence[str], size: tuple[int, ...], side_px: int | None, *, gray: bool) -> npt.NDArray[np.uint8]:
    shape = size
    if not gray:
        shape = (3, *size)
    stack = np.empty((len(paths), *shape), np.uint8)  # filled in place: never two copies in memory

    def put(index: int) -> None:
        image = _decoded(paths[index], side_px, gray=gray)
        if image.shape[:2] != size:
            height, width = image.shape[:2]
            raise InputError(
                f"data.dataset: {paths[index]}: has {width}x{height} pixels, the first image {size[1]}x{size[0]}"
            )
        if not gray:
            image = image.transpose(2, 0, 1)  # convolutions want channels first
        stack[index] = image

    # Decoders release the interpreter's lock, so threads are enough.
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(put, range(len(paths))):
            pass  # going through the results raises the errors
    return stack


def _decoded(path: str, side_px: int | None, *, gray: bool) -> npt.NDArray[np.uint8]:
    """Decode one image as [H, W] or [H, W, 3]."""
    from PIL import Image  # only datasets of image files need it

    try:
        # From memory: a damaged size of 4 GB would be allocated before the file is found to end.
        content = io.BytesIO(read_bytes(Path(path)))
        with Image.open(content) as image:
            # Also files with a palette or transparency become plain channels.
            pixels = image.convert("L" if gray else "RGB")
            if side_px:
                pixels = pixels.resize((side_px, side_px), Image.Resampling.BILINEAR)
            return np.asarray(pixels, dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError):  # SyntaxError: broken PNG
        raise InputError(f"data.dataset: {path}: cannot be read as an image") from None
