"""The report: one self-contained HTML page made from the files of one or several result folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgefl.errors import InputError
from edgefl.files import write_for_user
from edgefl.report.page import render
from edgefl.report.read import load_all

__all__ = ["write"]


def write(folders: Sequence[Path], out: Path) -> Path:
    """Write the page for the result folders to ``out``, whole or not at all, and return its path.

    Raises:
        InputError: a folder is not a result folder or one of its files cannot be read, one line for each folder;
            or the page cannot be written.
    """
    if not folders:
        raise InputError("report: name at least one result folder")
    runs = load_all([Path(folder) for folder in folders])
    write_for_user(Path(out), render(runs).encode())
    return Path(out)
