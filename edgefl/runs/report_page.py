"""The report page that is written into the folder of a finished run or sweep."""

from pathlib import Path

from edgefl.core.errors import InputError, RunError
from edgefl.core.own_files import check_replaceable
from edgefl.results.run_folder import PAGE

REPORT = "report.html"


def write_report(folder: Path) -> Path:
    """Write the report of the results in a folder, and return its path.

    Raises:
        RunError: it cannot be written, or would replace a user's file. This is not an `InputError`, as the results are
            on disk.
    """
    from edgefl.results import report  # late: the processes of a sweep write no pages

    try:
        check_replaceable(folder, {REPORT: PAGE})
        return report.write([folder], folder / REPORT)
    except InputError as error:
        raise RunError(str(error)) from None
