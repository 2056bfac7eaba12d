"""A study with the numbers that a user asks for: other targets than those of its index, or an end before its runs'."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.results.report.shared.questions import Question
from edgefl.results.report.shared.read import Run, load
from edgefl.results.report.sweep.study import SCENARIO_FILE, Study
from edgefl.results.targets import Target, end_of, instead_of_missed, missed_sentence, target_of

NO_TARGET = "none"  # selects the whole run


def asked(study: Study, target: str | None = None, at: str | None = None) -> Study:
    """Return a study with a target, and only the rounds until an end; runs are read where the index lacks the numbers.

    Without a target, where no run reached those of the study, the highest accuracy that most runs reached is one.

    Raises:
        InputError: a text says no target or end, a run has no such column, or its files cannot be read.
    """
    if at is not None:
        # The index knows whole runs only.
        targets = tuple(target_of(name) for name in study.targets)
        study = _with(study, Question(targets, end_of(at)))
    if target is None:
        return _with_proposal(study)
    if target == NO_TARGET or target_of(target).name in study.targets:
        return study
    return _with(study, study.question._replace(targets=(*study.question.targets, target_of(target))))


def _with_proposal(study: Study) -> Study:
    rows = study.every_finished_row
    targets = [target_of(name) for name in study.targets]
    reached = [bool(np.isfinite(study.numbers[f"target_{target.name}_time_s"][rows]).any()) for target in targets]
    shown = instead_of_missed(targets, reached, study.numbers["best_accuracy"][rows].tolist())
    # Of runs whose folders are gone only the index is left.
    if shown is None or not all((study.run_folder(row) / SCENARIO_FILE).is_file() for row in rows):
        return study
    answered = _with(study, study.question._replace(targets=(*study.question.targets, shown)))
    return replace(answered, missed=missed_sentence(targets, shown))


def _with(study: Study, question: Question) -> Study:
    """Return a study with the numbers of its finished runs that answer a question."""
    runs = {row: question.of(load(study.run_folder(row), details=False)) for row in study.every_finished_row}
    numbers = dict(study.numbers)
    if question.end is not None:
        numbers = {"seed": study.numbers["seed"]}
        for one in study.quantities:
            if one.name in study.numbers:
                numbers[one.name] = _column(study, runs, [run.value(one) for run in runs.values()])
    for target in question.targets:
        for name, cells in _costs(study, runs, target).items():
            numbers[f"target_{target.name}_{name}"] = cells
    return replace(study, numbers=numbers, question=question)


def _costs(study: Study, runs: dict[int, Run], target: Target) -> dict[str, Floats]:
    entries = [
        next(entry for entry in run.summary["targets"] if entry.get("name") == target.name) for run in runs.values()
    ]
    names = [one.at_target for one in study.quantities if one.at_target]
    known = [name for name in names if any(name in entry for entry in entries)]
    return {name: _column(study, runs, [entry.get(name) for entry in entries]) for name in known}


def _column(study: Study, runs: dict[int, Run], values: Sequence[float | None]) -> Floats:
    column = np.full(len(study.texts["status"]), np.nan)
    column[list(runs)] = [np.nan if value is None else value for value in values]
    return column
