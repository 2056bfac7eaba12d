"""The folder of a study, which holds the runs of a recipe and a row of what was read off each of them."""

from __future__ import annotations

from pathlib import Path

from edgefl.reproductions.library import Entry, Library
from edgefl.reproductions.plan import Plan, settings_digest
from edgefl.reproductions.recipe import ScaleName
from edgefl.reproductions.records import Rows, current, read_rows

STUDIES = Path("results") / "reproductions"  # below which studies are written, unless the user names a folder
MEASURED = "measured.csv"  # kept when the runs are deleted
RUNS = "runs"  # a sweep
LOCK = Path("checkpoints") / "lock"  # locked by the process that runs the study


def default_folder(entry: Entry, scale: ScaleName) -> Path:
    """Return the folder of a recipe's study if the user names none; recipes with the same runs share it."""
    return STUDIES / entry.runs_of / scale


def recorded_rows(library: Library, plan: Plan) -> Rows:
    """Return the rows that come with edgefl; those that were measured before the recipe was edited are left out.

    Raises:
        InputError: they are damaged, or about other axes.
    """
    return _current(plan, read_rows(library.recorded(plan.entry, plan.scale), plan.axes))


def known_rows(library: Library, plan: Plan, folder: Path) -> Rows:
    """Return all rows of a plan's runs: the recorded ones and, in their place, those of the study in a folder."""
    return recorded_rows(library, plan) | _current(plan, local_rows(plan, folder))


def _current(plan: Plan, rows: Rows) -> Rows:
    runs = {run.key: run for run in plan.runs}
    return current(
        {key: row for key, row in rows.items() if key in runs}, lambda row: settings_digest(plan, runs[row.key])
    )


def local_rows(plan: Plan, folder: Path) -> Rows:
    """Return what the study in a folder has measured; nothing if there is none.

    Raises:
        InputError: its rows are damaged, or about another recipe.
    """
    return read_rows(folder / MEASURED, plan.axes)
