"""Reading IDX files, the format of MNIST and its relatives (LeCun; torchvision's folders `raw` hold them)."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from edgefl.core.errors import InputError
from edgefl.core.files import opened
from edgefl.core.packed_files import read_unpacked
from edgefl.learning.datasets.base import Array, Arrays

UINT8_MAGIC = b"\0\0\x08"  # two zeros and the type; then the number of axes, and each axis in 4 big-endian bytes


def read_idx(path: Path) -> Array:
    """Return the uint8 array of an IDX file, mapped into memory, or of the same file with .gz.

    Raises:
        OSError: neither can be read.
        ValueError: it is not a whole IDX file of bytes.
    """
    # torchvision leaves both beside each other: the unpacked one can be mapped.
    packed = path.with_name(f"{path.name}.gz")
    if not path.exists() and packed.exists():
        return _unpacked(packed)
    with opened(path) as stream:
        shape = _shape(stream.read(4 + 4 * 255), path)  # the longest header: 255 axes
    offset = 4 + 4 * len(shape)
    # A download that broke off has a good header: only its size tells.
    _check_size(path, path.stat().st_size, offset + math.prod(shape))
    return np.memmap(path, np.uint8, "c", offset, shape)  # copy on write


def _unpacked(path: Path) -> Array:
    content = bytearray(read_unpacked(path))  # writable, unlike bytes
    shape = _shape(content, path)
    offset = 4 + 4 * len(shape)
    _check_size(path, len(content), offset + math.prod(shape))
    return np.frombuffer(content, np.uint8, offset=offset).reshape(shape)


def _shape(content: bytes | bytearray, path: Path) -> tuple[int, ...]:
    if content[:3] != UINT8_MAGIC or len(content) < 4 or len(content) < 4 + 4 * content[3]:
        raise ValueError(f"{path.name} is not an IDX file of bytes")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", content[3], 4))
    if 0 in shape or not shape:
        raise ValueError(f"{path.name} holds nothing")
    return shape


def _check_size(path: Path, size: int, expected: int) -> None:
    if size != expected:
        raise ValueError(f"{path.name} has {size} bytes, not {expected}")


def read_raw(folder: Path, files: Mapping[str, str], what: str) -> Arrays:
    """Return the arrays of a dataset's four files, by name of the array; raises an InputError if one is damaged."""
    try:
        return {name: read_idx(folder / file) for name, file in files.items()}
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"data.dataset: {folder}: not the four whole files ({problem}). {what}") from None
