"""What a user asks of finished runs: other targets than those of their scenarios, or only their rounds until an end."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.section import Section
from edgefl.records.quantities import DECLARED
from edgefl.results import metrics
from edgefl.results.report.shared.read import Run, first_rounds, load
from edgefl.results.targets import End, Target, costs_to, target_of


class Question(NamedTuple):
    """Targets besides those of a run's scenario, and an end of the rounds that count."""

    targets: Sequence[Target] = ()
    end: End | None = None

    def of(self, run: Run) -> Run:
        """Return a run with the targets in its summary, and only the rounds until the end.

        Raises:
            InputError: the run has no such column.
        """
        if self.end is not None:
            # What a summary says holds for the whole run; without it the rounds are summed up.
            declared = {name: run.summary[name] for name in (DECLARED,) if name in run.summary}
            run = replace(first_rounds(run, self.end.rounds(run.rounds)), summary=declared)
        if not self.targets:
            return run
        asked = {target.name for target in self.targets}
        others = [entry for entry in run.targets if f"{entry['accuracy']:.6g}" not in asked]
        entries = [*others, *(_entry(run, target) for target in self.targets)]
        return replace(run, summary={**run.summary, "targets": entries})


NO_QUESTION = Question()


def with_targets(folder: Path, summary: Mapping[str, Any], wanted: Sequence[float | Section]) -> Mapping[str, Any]:
    """Return the summary of a finished run with the accuracies that a scenario wants, perhaps since the run began.

    Relative targets stay as they were.

    Raises:
        InputError: a file of the folder cannot be read.
    """
    accuracies = [accuracy for accuracy in wanted if isinstance(accuracy, float)]
    if set(accuracies) <= {target["accuracy"] for target in summary["targets"]}:
        return summary
    return Question([target_of(accuracy) for accuracy in accuracies]).of(load(folder, details=False)).summary


def _entry(run: Run, target: Target) -> dict[str, Any]:
    costs = metrics.costs(run.rounds, run.quantities)
    reach = target.reach(run.curve, run.rounds)
    return {"accuracy": target.limit, "name": target.name, "title": target.title, **costs_to(reach, run.curve, costs)}
