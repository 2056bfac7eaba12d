"""Files with one mapping, such as published traces of devices: JSON, or pickles, read as plain data only."""

import io
import json
import pickle
import pickletools
import re
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.packed_files import read_unpacked

# Instructions that give a value a number: 4 bytes after r, or a text after p. The first ones may overlap.
_LONG_PUT = re.compile(rb"r(?=(.{4}))", re.DOTALL)
_TEXT_PUT = re.compile(rb"p\d{7}")


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, texts, lists and mappings; refuses to import any name, as that could run code."""

    def find_class(self, module_name: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"names {module_name}.{name}, and would run its code: write the file as JSON")


def read_mapping(path: Path) -> dict[Any, Any]:
    """Return the mapping in a file: JSON, or a pickle of plain data; either may be packed by gzip (.gz).

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    try:
        content = read_unpacked(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if content.startswith(b"version https://git-lfs"):
        raise InputError(f"{path}: is a pointer of Git LFS, not the file: fetch it with git lfs pull")
    if content[:1] == b"[":  # before a list of any length is made
        raise InputError(f"{path}: must hold a mapping with at least one entry")
    # A pickle of protocol 2 or later begins with 0x80, and no JSON does.
    value = _unpickled(path, content) if content[:1] == b"\x80" else _parsed(path, content)
    if not isinstance(value, dict) or not value:
        raise InputError(f"{path}: must hold a mapping with at least one entry")
    return value


def check_pickle(content: bytes) -> None:
    """Check how much memory a pickle would take for its memo, the values that it refers to by number.

    Raises:
        pickle.UnpicklingError: a number is so high that Python would make a table of up to 64 GiB for it.
    """
    # Going through all instructions is slow, so this is done only if some bytes look like such a number.
    high = any(int.from_bytes(found[1], "little") > len(content) for found in _LONG_PUT.finditer(content))
    if not high and _TEXT_PUT.search(content) is None:
        return
    for instruction, argument, _ in pickletools.genops(content):
        if instruction.name in {"PUT", "LONG_BINPUT"} and int(argument or 0) > len(content):
            raise pickle.UnpicklingError("is damaged: names more values than it has bytes")


def _unpickled(path: Path, content: bytes) -> Any:
    try:
        check_pickle(content)
        return _PlainUnpickler(io.BytesIO(content)).load()
    except pickle.UnpicklingError as error:
        raise InputError(f"{path}: {error}") from None
    # A damaged pickle may raise any of these.
    except (ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise InputError(f"{path}: is not a whole pickle ({error!r})") from None


def _parsed(path: Path, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is neither JSON nor a pickle of protocol 2 or later") from None


def in_order(entries: dict[Any, Any]) -> list[tuple[str, Any]]:
    """Return names, as text, and entries of a mapping, in order of the names if all are numbers."""
    named = [(str(name), entry) for name, entry in entries.items()]
    if all(name.isdecimal() for name, _ in named):
        named.sort(key=lambda item: int(item[0]))
    return named
