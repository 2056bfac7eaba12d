"""The check of all recipes that do not learn, or learn in seconds: run in a temporary folder, and compared."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from edgefl.core.errors import InputError
from edgefl.reproductions.comparison import Comparison, compare
from edgefl.reproductions.library import Library
from edgefl.reproductions.needs import lacking, needs
from edgefl.reproductions.plan import Plan, PlannedRun, plan
from edgefl.reproductions.records import Rows
from edgefl.reproductions.scenarios import scenarios_of
from edgefl.reproductions.study import read_run
from edgefl.runs import sweeps
from edgefl.runs.sweeps import OnRunEnd, SweepOptions, ignore
from edgefl.scenario import Sweep, SweepPoint


class Checked(NamedTuple):
    """A checked recipe."""

    comparison: Comparison
    failed: tuple[str, ...]  # why runs of it failed

    @property
    def passed(self) -> bool:
        """True if no run failed, and the recipe is within tolerance or names its gap."""
        return not self.failed and (self.comparison.holds or self.comparison.state in {"a named gap", "needs data"})


class _Task(NamedTuple):
    """A run of one or several recipes."""

    plan: Plan
    run: PlannedRun
    point: SweepPoint


def check(
    library: Library, names: Sequence[str], *, workers: int | None = None, on_run_end: OnRunEnd = ignore
) -> list[Checked]:
    """Run the checked ones of some recipes, side by side, and compare them.

    Args:
        library: the recipes' library.
        names: of recipes.
        workers: runs at a time; None: one for each core.
        on_run_end: called after each run.

    Raises:
        InputError: a recipe is wrong.
    """
    entries = [entry for entry in map(library.load, names) if entry.recipe.checked]
    plans = [plan(library, entry, entry.recipe.checked_scale) for entry in entries]
    ready = [one for one in plans if not lacking(needs(one))]
    rows: dict[str, Rows] = {}
    failed: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for train in (False, True):  # a sweep learns, or it does not
            tasks = {task.point.place: task for task in _tasks(ready, train=train)}
            if not tasks:
                continue
            out = Path(folder) / str(train)
            sweep = Sweep("check", (), tuple(task.point for task in tasks.values()), train)
            result = sweeps.run(sweep, SweepOptions(out=out, workers=workers, device="cpu", report=False), on_run_end)
            if any(ended.status in {"interrupted", "pending"} for ended in result.runs):
                raise KeyboardInterrupt
            for ended in result.runs:
                task = tasks[ended.point.place]
                runs_of = task.plan.entry.runs_of
                if ended.error is not None:
                    failed.setdefault(runs_of, []).append(f"{ended.point.place}: {ended.error}")
                    continue
                try:
                    row = read_run(task.plan, task.run, out / ended.point.place, library.measures(runs_of))
                except InputError as error:
                    failed.setdefault(runs_of, []).append(str(error))
                    continue
                rows.setdefault(runs_of, {})[row.key] = row
    found = []
    for one in plans:
        comparison = compare(one, rows.get(one.entry.runs_of, {}), data_are_here=one in ready)
        found.append(Checked(comparison, tuple(failed.get(one.entry.runs_of, ()))))
    return found


def _tasks(plans: Sequence[Plan], *, train: bool) -> Iterator[_Task]:
    """Yield the runs of recipes that learn, or do not; a run that recipes share may repeat."""
    for one in plans:
        if one.recipe.train != train:
            continue
        scenarios = scenarios_of(one)
        for run in one.runs:
            point = SweepPoint(f"{one.entry.runs_of}/{run.label}", run.point, scenarios[run.key])
            yield _Task(one, run, point)
