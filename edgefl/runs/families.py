"""Families of a sweep: runs that learn the same if the same updates arrive, such as runs of two bandwidths.

The first run of a family learns by itself and leaves a record of its learning. The others use it, and learn only what
differs.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from edgefl.results.run_folder import remove_checkpoints
from edgefl.runs.learning_key import learning_setting
from edgefl.runs.sweep_run import SweepRun


class Family:
    """Runs of a sweep that may learn the same."""

    def __init__(self, runs: Sequence[SweepRun]) -> None:
        self.runs = runs

    def ready(self) -> list[SweepRun]:
        """Return the runs that may begin now: a single one until one has finished, then all."""
        # A second run at the same time would learn everything again.
        pending = [run for run in self.runs if run.status == "pending"]
        if self.records():
            return pending
        # A failed first run leaves no record: then the next one leads.
        if any(run.status == "running" for run in self.runs):
            return []
        return pending[:1]

    def records(self) -> list[Path]:
        """Return the folders of the finished runs with a record of their learning."""
        return [run.folder for run in self.runs if run.record is not None]

    @property
    def over(self) -> bool:
        """Whether all runs are over."""
        return all(run.over for run in self.runs)

    def remove_records(self) -> None:
        """Remove the records of finished runs."""
        for run in self.runs:
            if run.record is not None:
                remove_checkpoints(run.folder)


def families_of(runs: Sequence[SweepRun], *, learning: bool) -> list[Family]:
    """Return the families of a sweep's runs; without learning each run is a family of its own."""
    members: dict[str, list[SweepRun]] = defaultdict(list)
    for run in runs:
        key = str(run.number)  # without learning there is nothing to share
        if learning:
            key = learning_setting(run.point.scenario)
        members[key].append(run)
    return [Family(family) for family in members.values()]


def unfinished(families: Sequence[Family]) -> list[Family]:
    """Return the families that are not over, and remove the records of the others."""
    left = []
    for family in families:
        if family.over:
            family.remove_records()
        else:
            left.append(family)
    return left
