"""The report on a sweep: one self-contained HTML page made from its folder, and a table of its statistics."""

from collections.abc import Sequence
from pathlib import Path

from edgefl.core import own_files
from edgefl.core.files import write_for_user
from edgefl.results.csv_format import spreadsheet_bytes
from edgefl.results.report.sweep.curves import learning_curves
from edgefl.results.report.sweep.estimates import estimate_columns
from edgefl.results.report.sweep.gathering import gathered
from edgefl.results.report.sweep.links import PAGE, pages_of_runs, sweep_link
from edgefl.results.report.sweep.page import render
from edgefl.results.report.sweep.selection import NO_CHOICE, StudyChoice, chosen_study
from edgefl.results.report.sweep.statistics_csv import statistics_table
from edgefl.results.report.sweep.study import is_sweep, load
from edgefl.results.run_folder import STATISTICS

__all__ = ["PAGE", "is_sweep", "run_folders", "sweep_link", "write"]


def run_folders(folder: Path) -> list[Path]:
    """Return the result folders of the runs of a sweep that have finished.

    Raises:
        InputError: the folder is not a sweep's, one of its files cannot be read, or a run lies outside it.
    """
    study = load(folder)
    return [study.run_folder(row) for row in study.every_finished_row]


def write(folders: Sequence[Path], out: Path, choice: StudyChoice = NO_CHOICE) -> Path:
    """Write the page on one or several sweeps to ``out`` and ``statistics.csv`` beside it; return the page's path.

    Of a choice only the points, the target and the end count.

    Raises:
        InputError: the folder is not a sweep's, one of its files cannot be read, or nothing can be written there;
            or a file of the user's is beside it under the name of the table.
    """
    own_files.check_replaceable(out.parent, {"statistics.csv": STATISTICS})
    study = chosen_study(gathered(folders), choice)
    columns = estimate_columns(study)
    # Both files are complete in memory before the first is written: damaged input leaves nothing behind.
    page = render(study, columns, learning_curves(study), pages_of_runs(study, out)).encode()
    table = spreadsheet_bytes(statistics_table(study, columns))
    write_for_user(out.parent / "statistics.csv", table)
    write_for_user(out, page)
    return out
