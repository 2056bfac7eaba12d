"""The report page that is written into the folder of a finished run or sweep."""

from __future__ import annotations

from pathlib import Path

from edgefl.core.errors import InputError, RunError

REPORT = "report.html"


def write_report(folder: Path) -> Path:
    """Write the report of the results in a folder, and return its path.

    Raises:
        RunError: it cannot be written. The input was not wrong, as the run itself has ended and is on disk.
    """
    from edgefl.results import report  # imported late: the processes of a sweep never write pages

    try:
        return report.write([folder], folder / REPORT)
    except InputError as error:
        raise RunError(str(error)) from None
