"""Folders instead of a file: their files, in order."""

import re
from collections.abc import Collection
from pathlib import Path

from edgefl.core.data_files import NotReadable

PACKED = ".gz"
MOST_DIGITS = 20  # of a number in a name; longer ones are ordered as text


def files_at(path: Path, suffixes: Collection[str]) -> list[Path]:
    """Return a file, or the files of a folder whose names end in one of `suffixes`, in the order of their names.

    The names may also end in .gz; those that begin with a dot are left out.

    Raises:
        NotReadable: a folder holds none.
        OSError: it cannot be read.
    """
    if not path.is_dir():
        return [path]
    named = [file for file in path.iterdir() if suffix_of(file) in suffixes and not file.name.startswith(".")]
    if not named:
        text = f"holds no files that end in {' or '.join(suffixes)} (or with {PACKED})"
        folders = sorted(file.name for file in path.iterdir() if file.is_dir() and not file.name.startswith("."))
        if folders:
            text = f"{text}, but folders, such as {folders[0]}: name one of them, or put the files into one folder"
        raise NotReadable(text)
    return sorted(named, key=lambda file: natural(stem_of(file)))


def suffix_of(file: Path) -> str:
    """Return the suffix of a file's name, of what is packed if it is packed."""
    return Path(file.name.removesuffix(PACKED)).suffix


def stem_of(file: Path) -> str:
    """Return a file's name without its suffixes."""
    return Path(file.name.removesuffix(PACKED)).stem


def natural(name: str) -> tuple[float, str, str]:
    """Return a sort key of names: numbers by value, then words, with the numbers in them by value."""
    padded = re.sub(r"\d+", lambda digits: digits[0].zfill(MOST_DIGITS), name)
    try:
        return float(name), padded, name
    except ValueError:
        return float("inf"), padded, name
