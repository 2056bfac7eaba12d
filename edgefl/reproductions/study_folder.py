"""The folder of a study, with the runs of a recipe and a row of readings for each."""

from pathlib import Path

from edgefl.core.own_files import Mark, begins_with, check_lock, check_replaceable, first_line_has, is_own
from edgefl.reproductions.library import Entry, Library
from edgefl.reproductions.paper_table import NOTE
from edgefl.reproductions.plan import Plan, PlannedRun
from edgefl.reproductions.recipe import ScaleName
from edgefl.reproductions.records import Rows, current, read_rows
from edgefl.reproductions.scenarios import settings_digest
from edgefl.results import run_folder
from edgefl.results.run_folder import CHECKPOINTS, LOCK
from edgefl.runs import sweep_folder

STUDIES = Path("results") / "reproductions"  # below which studies are written, unless the user names a folder
MEASURED = "measured.csv"  # kept when the runs are deleted
RUNS = "runs"  # a sweep
COMPARISON = "comparison.csv"
LATEX = "comparison.tex"
PAGE = "report.html"


def _is_table_of_rows(head: bytes) -> bool:
    columns = head.partition(b"\n")[0].split(b",")
    return {b"seed", b"version"} <= set(columns)


MARKS: dict[str, Mark] = {  # of a study's own files
    MEASURED: _is_table_of_rows,
    COMPARISON: first_line_has("column", "measure", "published", "mean", "std"),
    LATEX: begins_with(f"% {NOTE}".encode()),
    PAGE: run_folder.PAGE,
}


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Check that a folder, which need not exist, can hold a study or the pages of one.

    Raises:
        InputError: it has other files, or another program wrote a file with one of edgefl's names.
    """
    names = run_folder.names_in(folder)
    known = is_begun(folder) or (overwrite and is_own(folder / COMPARISON, MARKS[COMPARISON]))
    only_lock = names <= {CHECKPOINTS} and run_folder.holds_only_lock(folder)
    if names and not known and not only_lock:
        raise run_folder.holds_others(folder, "study", names)
    check_replaceable(folder, MARKS)
    check_lock(folder / LOCK)


def is_begun(folder: Path) -> bool:
    """Return whether the folder holds a study, with or without its runs."""
    return is_own(folder / MEASURED, MARKS[MEASURED]) or sweep_folder.is_begun(folder / RUNS)


def default_folder(entry: Entry, scale: ScaleName) -> Path:
    """Return the default folder of a recipe's study; recipes with the same runs share it."""
    return STUDIES / entry.runs_of / scale


def recorded_rows(library: Library, plan: Plan) -> Rows:
    """Return the rows that come with edgefl, without those that are older than the recipe's last change.

    Raises:
        InputError: they are damaged, or have other axes.
    """
    return _current(plan, read_rows(library.recorded(plan.entry, plan.scale), plan.axes))


def known_rows(library: Library, plan: Plan, folder: Path) -> Rows:
    """Return all rows of a plan's runs; those of the study in a folder replace recorded ones."""
    return recorded_rows(library, plan) | _current(plan, local_rows(plan, folder))


def _current(plan: Plan, rows: Rows) -> Rows:
    """Return the rows of a plan's points, of any seed, that are not older than the recipe's last change."""
    points = {tuple(point.values()) for point in plan.points}
    return current(
        {key: row for key, row in rows.items() if key[:-1] in points},
        lambda row: settings_digest(plan, PlannedRun(dict(row.point), row.seed)),
    )


def local_rows(plan: Plan, folder: Path) -> Rows:
    """Return the rows of the study in a folder; none if it has no study.

    Raises:
        InputError: the rows are damaged, or belong to another recipe.
    """
    return read_rows(folder / MEASURED, plan.axes)
