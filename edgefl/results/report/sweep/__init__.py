"""The report on a sweep: one self-contained HTML page made from its folder, and a table of its statistics."""

from __future__ import annotations

from pathlib import Path

from edgefl.core.files import write_for_user
from edgefl.results.csv_format import csv_bytes
from edgefl.results.report.sweep.columns import columns, table
from edgefl.results.report.sweep.curves import curves
from edgefl.results.report.sweep.page import render
from edgefl.results.report.sweep.study import is_sweep, load

__all__ = ["is_sweep", "write"]


def write(folder: Path, out: Path) -> Path:
    """Write the page to ``out``, ``statistics.csv`` beside it, and return the page's path.

    Raises:
        InputError: the folder is not a sweep's or one of its files cannot be read; or nothing can be written there.
    """
    study = load(folder)
    found = columns(study)
    page = render(study, found, curves(study))
    write_for_user(out.parent / "statistics.csv", csv_bytes(table(study, found)))
    write_for_user(out, page.encode())
    return out
