"""Your own arrays."""

import logging
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.core.errors import InputError, Unavailable
from edgefl.core.files import opened
from edgefl.core.packed_files import LEAST_BOUND_BYTES, MOST_RATIO
from edgefl.core.paths import UserFile
from edgefl.learning.datasets import own
from edgefl.learning.datasets.base import MOST_CLASSES, Array, Arrays, Data, Dataset, problem
from edgefl.learning.datasets.own import NAMES, own_data

log = logging.getLogger("edgefl")

VALIDATION = re.compile(r"(x|y)_val(id(ation)?)?|val(id(ation)?)?_\w+")  # names of arrays: val_x, x_val, valid_labels
MORE = ("owner", "test_owner", "weight")
ENCRYPTED = 1  # the bit of a member's flags, in PKWARE's APPNOTE 4.4.4
MOST_NAMED = 8  # of other arrays, in a message
PICKLE = ": it is a pickle, such as of torch.save: load it in a function of your own (docs/your-own.md)"


class Npz(Dataset):
    """Your own arrays: a NumPy .npz file with train_x, train_y, test_x, test_y (labels are integers from 0).

    The names of Keras (x_train, y_train, x_test, y_test) are read, too. The file may also hold owner, test_owner and
    weight. Images [n, H, W, 3] become [n, 3, H, W]. Floating-point labels are the numbers of a regression.
    """

    path: UserFile  # The .npz file.
    # Number of classes, K; by default one more than the highest label.
    classes: Annotated[int, Field(ge=1, le=MOST_CLASSES)] | None = None
    ignore_index: int | None = None  # Label of tokens or pixels that do not count, besides -100.

    def load(self) -> Data:
        """Read the arrays; uint8 samples are standardised over all training values, others are taken as they are."""
        found = {**read_arrays(self.path, MORE), "classes": self.classes, "ignore_index": self.ignore_index}
        return own_data(found, f"data.path: {self.path}", "set data.classes to {}")


def read_npz(path: Path, most_classes: int) -> Arrays:
    """Return the four arrays of a known dataset, checked; images have their channels first."""
    return checked(read_arrays(path), path, most_classes)


def read_arrays(path: Path, more: Sequence[str] = ()) -> Arrays:
    """Return the four arrays of a file, and those of `more` that it holds; raises an InputError if it is wrong."""
    try:
        with opened(path) as stream, zipfile.ZipFile(stream) as archive:
            held = archive.namelist()
            arrays = {}
            for name in (*NAMES, *more):
                given = next((given for given in (name, _in_keras(name)) if f"{given}.npy" in held), None)
                if given is not None:
                    arrays[name] = _array(archive, given, path)
    except FileNotFoundError as error:
        raise Unavailable(f"data.path: {path}: {error.strerror}") from None
    except OSError as error:
        raise InputError(f"data.path: {path}: {error.strerror or 'cannot be read'}") from None
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"data.path: {path}: its arrays do not fit into the memory") from None
    except Exception:  # noqa: BLE001 - a damaged archive can raise anything
        raise InputError(f"data.path: {path}: is not a .npz file of plain arrays{_kind(path)}") from None
    missing = [name for name in NAMES if name not in arrays]
    if missing:
        raise InputError(f"data.path: {path}: lacks {', '.join(missing)}; needed: {', '.join(NAMES)}{_others(held)}")
    unread = [name.removesuffix(".npy") for name in held if VALIDATION.fullmatch(name.removesuffix(".npy"))]
    if unread:
        remedy = "join them with the training samples, and set data.validation_share"
        log.warning("data.path: %s: %s are not read: %s", path, " and ".join(unread), remedy)
    return arrays


def _in_keras(name: str) -> str:
    """Return what Keras calls an array: x_train for train_x."""
    part, _, kind = name.partition("_")
    return f"{kind}_{part}"


def _others(held: Sequence[str]) -> str:
    """Return what an archive with these members holds instead, as the end of a message; "" if it is empty."""
    if any(name.endswith("data.pkl") for name in held):
        return PICKLE
    found = [name.removesuffix(".npy") for name in held]
    others = [name for name in found if name not in NAMES and name.isidentifier()]
    if not others:
        return ""
    if len(found) < len(NAMES):
        return f"; it has {', '.join(found)}: hold some samples back for tests, and save the four arrays"
    more = ", ..." if len(others) > MOST_NAMED else ""
    return f"; rename those that it has: {', '.join(others[:MOST_NAMED])}{more}"


def _kind(path: Path) -> str:
    """Return what a file is instead, and what to do with it, as the end of a message; "" if that is unknown."""
    try:
        with opened(path) as stream:
            begin = stream.read(256)
    except (OSError, ValueError):  # a name that no file can have
        return ""
    if begin.startswith(np.lib.format.MAGIC_PREFIX):
        return f": it is a single array: save all with np.savez({', '.join(f'{name}=...' for name in NAMES)})"
    if begin.startswith(b"\x80"):
        return PICKLE
    if begin and begin.isascii() and begin.decode().replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
        return ": it is text: read it in a function of your own, such as with pandas.read_csv (docs/your-own.md)"
    return ""


def _array(archive: zipfile.ZipFile, name: str, path: Path) -> Array:
    """Return one array of an archive, after checks that it is as long as its headers say, before memory is taken."""
    member = archive.getinfo(f"{name}.npy")
    if member.flag_bits & ENCRYPTED:
        raise InputError(f"data.path: {path}: {name} is encrypted: save the arrays without a password")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"data.path: {path}: {name} is packed in an unknown way: use np.savez or np.savez_compressed")
    packed_bytes = min(member.compress_size, path.stat().st_size)
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read_header = np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        if dtype.hasobject:
            text = f"is not a .npz file of plain arrays: {name} has Python objects"
            raise InputError(f"data.path: {path}: {text}: save numbers, or texts with {name}.astype(str)")
        promised_bytes = file.tell() + math.prod(shape) * dtype.itemsize
    is_cut = member.compress_type == zipfile.ZIP_STORED and promised_bytes > packed_bytes
    if is_cut or min(shape, default=0) < 0 or promised_bytes != member.file_size:
        raise InputError(f"data.path: {path}: is damaged: {name} is not as long as its header says")
    if promised_bytes > max(MOST_RATIO * packed_bytes, LEAST_BOUND_BYTES):
        text = f"{name} unpacks to more than {MOST_RATIO} times its size"
        raise InputError(f"data.path: {path}: {text}: if that is right, save the arrays with np.savez")
    with archive.open(member) as file:
        # Without pickles: an archive of objects would run code of the file's author.
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def checked(arrays: Mapping[str, Array], path: Path, most_classes: int) -> Arrays:
    """Return the arrays of a known dataset with labels and token ids as int64.

    Raises:
        InputError: they are not samples and labels.
    """
    return own.checked(arrays, f"data.path: {path}", lambda x, y: problem(x, y, most_classes))
