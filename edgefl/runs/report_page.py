"""The page about a run or a sweep that has ended, in its own folder."""

from __future__ import annotations

from pathlib import Path

from edgefl.core.errors import InputError, RunError

REPORT = "report.html"


def write_report(folder: Path) -> Path:
    """Write the page about the results in a folder, and return its path.

    Raises:
        RunError: it cannot be written. That is no wrong input: what it is about has been run and is on disk.
    """
    from edgefl.results import report  # late, as the processes of a sweep write no pages

    try:
        return report.write([folder], folder / REPORT)
    except InputError as error:
        raise RunError(str(error)) from None
