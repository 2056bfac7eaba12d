"""The report: one self-contained HTML page made from the files of one or several result folders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from edgefl.errors import InputError
from edgefl.report.page import render
from edgefl.report.read import load

__all__ = ["write"]


def write(folders: Sequence[Path], out: Path) -> Path:
    """Write the page for the result folders to ``out``, whole or not at all, and return its path.

    Raises:
        InputError: a folder is not a result folder or one of its files cannot be read, one line for each folder.
    """
    if not folders:
        raise InputError("report: name at least one result folder")
    faults: list[str] = []
    runs = []
    for folder in folders:
        try:
            runs.append(load(Path(folder)))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(*faults)
    _replace(Path(out), render(runs))
    return Path(out)


def _replace(path: Path, text: str) -> None:
    """Write through a temporary file beside ``path``, so that a reader never sees half a page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(0o644)  # mkstemp's 0600 would keep the page from being shared
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
