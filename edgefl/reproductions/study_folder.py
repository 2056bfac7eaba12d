"""The folder of a study, which holds the runs of a recipe and a row of what was read off each of them."""

from __future__ import annotations

from pathlib import Path

from edgefl.reproductions.library import Entry
from edgefl.reproductions.plan import Plan
from edgefl.reproductions.recipe import ScaleName
from edgefl.reproductions.records import Rows, read_rows

STUDIES = Path("results") / "reproductions"  # below which studies are written, unless the user names a folder
MEASURED = "measured.csv"  # kept when the runs are deleted
RUNS = "runs"  # a sweep
LOCK = Path("checkpoints") / "lock"  # locked by the process that runs the study


def default_folder(entry: Entry, scale: ScaleName) -> Path:
    """Return the folder of a recipe's study if the user names none; recipes with the same runs share it."""
    return STUDIES / entry.runs_of / scale


def local_rows(plan: Plan, folder: Path) -> Rows:
    """Return what the study in a folder has measured; nothing if there is none.

    Raises:
        InputError: its rows are damaged, or about another recipe.
    """
    return read_rows(folder / MEASURED, plan.axes)
