"""The report: one self-contained HTML page made from the files of one or several result folders, or of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import write_for_user
from edgefl.results.report import sweep
from edgefl.results.report.page import render
from edgefl.results.report.read import load_all

__all__ = ["write"]


def write(folders: Sequence[Path], out: Path) -> Path:
    """Write the page for the result folders to ``out``, whole or not at all, and return its path.

    For the folder of a sweep ``statistics.csv`` is written beside it.

    Raises:
        InputError: a folder is not a result folder or one of its files cannot be read, one line for each folder;
            or the page cannot be written.
    """
    if not folders:
        raise InputError("report: name at least one result folder")
    if sweeps := [str(folder) for folder in folders if sweep.is_sweep(Path(folder))]:
        if len(folders) > 1:
            raise InputError(f"report: {sweeps[0]} is a sweep's folder: name it alone")
        return sweep.write(Path(folders[0]), Path(out))
    runs = load_all([Path(folder) for folder in folders])
    write_for_user(Path(out), render(runs).encode())
    return Path(out)
