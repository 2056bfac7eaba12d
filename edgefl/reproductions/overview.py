"""The list of all recipes: data, duration, day of the last measurement, and state."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from edgefl.reproductions.comparison import Comparison, compare
from edgefl.reproductions.library import Entry, Library
from edgefl.reproductions.needs import Need, lacking, needs
from edgefl.reproductions.plan import Plan, plan
from edgefl.reproductions.records import Rows
from edgefl.reproductions.study_folder import known_rows, local_rows
from edgefl.reproductions.texts import last_day, state_with_notes
from edgefl.reproductions.trials import kept_trial_s

UNKNOWN = "–"


class Takes(NamedTuple):
    """The duration of all runs of a recipe, one after the other."""

    seconds: float
    basis: str  # its origin: a trial on this machine, or recorded rows


@dataclass(frozen=True)
class Line:
    """A recipe in the list."""

    entry: Entry
    comparison: Comparison  # at the largest measured scale, or else the whole one
    needs: Sequence[Need]
    takes: Takes | None  # None if unknown
    measured: str  # the last day of a measurement

    @property
    def state(self) -> str:
        """The state, with the scale if it is not the whole one."""
        text = state_with_notes(self.comparison)
        if self.comparison.scale != "full":
            text = f"{text} (scale {self.comparison.scale})"
        return text


def overview(library: Library, names: Sequence[str], studies: Path) -> list[Line]:
    """Return the list of some recipes.

    Args:
        library: the recipes' library.
        names: of the recipes.
        studies: the folder of the studies on this machine.

    Raises:
        InputError: a recipe is wrong.
    """
    return [line_of(library, library.load(name), studies) for name in names]


def line_of(library: Library, entry: Entry, studies: Path) -> Line:
    """Return a recipe as the list shows it."""
    plans = [plan(library, entry, scale) for scale in entry.recipe.scale_names]  # the whole one first
    known = [(one, known_rows(library, one, studies / entry.runs_of / one.scale)) for one in plans]
    planned, rows = next((pair for pair in known if _are_measured(*pair)), known[0])
    found = needs(planned)
    comparison = compare(planned, rows, data_are_here=not lacking(found))
    study = local_rows(planned, studies / entry.runs_of / planned.scale)
    return Line(entry, comparison, found, _takes(planned, study, rows), last_day(comparison) or UNKNOWN)


def _are_measured(planned: Plan, rows: Rows) -> bool:
    return any(run.key in rows for run in planned.runs)


def _takes(planned: Plan, study: Rows, known: Rows) -> Takes | None:
    """Return the duration of all runs of a plan, on this machine if known, or else as recorded."""
    here_s = _mean_s(planned, study)
    if here_s is not None:
        return Takes(here_s * len(planned.runs), "as here before")
    tried_s = kept_trial_s(planned)
    if tried_s is not None:
        return Takes(tried_s, "by a trial")
    recorded_s = _mean_s(planned, known)
    if recorded_s is not None:
        return Takes(recorded_s * len(planned.runs), "as recorded")
    return None


def _mean_s(planned: Plan, rows: Rows) -> float | None:
    known = [row.took_s for run in planned.runs if (row := rows.get(run.key)) and row.took_s is not None]
    return statistics.fmean(known) if known else None
