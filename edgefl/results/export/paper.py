"""A table for a paper, in LaTeX or Markdown: one row for all runs that differ only in their seed."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import IO, Any, NamedTuple

from edgefl.core.units import ENERGY, NO_NUMBER, PLAIN, TIME, Unit, fitting, percent, with_unit
from edgefl.results.export.dialects import DIALECTS, Cell, TextColumn
from edgefl.results.export.exported_runs import groups_of, sweep_alone
from edgefl.results.member_titles import title
from edgefl.results.report.comparison.seed_groups import SeedGroup
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run, reached
from edgefl.results.report.sweep.study import Study

PERCENT = (Unit("%", 0.01, 0),)
COST_COLUMNS = (("rounds", "round", PLAIN), ("time", "time_s", TIME), ("energy", "energy_j", ENERGY))


class RunNumber(NamedTuple):
    """A number of one run: a cost, or a lower `bound` of it."""

    value: float
    bound: bool = False


class SeedStatistic(NamedTuple):
    """A number of a group: the mean over seeds, or a median or bound if some seeds missed a target."""

    value: float
    std: float | None = None  # over seeds, with n - 1 degrees of freedom
    bound: bool = False  # the number is more than `value`
    share: str = ""  # of the seeds that reached the target, if not all did

    @property
    def comparable(self) -> bool:
        """Whether the number is known for all seeds, so that it may be the best of its column."""
        return not self.bound and not self.share and not math.isnan(self.value)


class PaperMeasure(NamedTuple):
    """A column of the table: how its number is read and written."""

    block: str  # title above neighbouring columns
    name: str
    read: Callable[[Run], RunNumber | None]  # None: the run has no such number
    units: Sequence[Unit]  # from which the largest number selects one
    best: Callable[[Sequence[float]], float] | None = None  # min or max


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """Write targets and accuracies; or `targets` alone, or a `summary` of accuracies and totals."""
    groups = groups_of(folders)
    runs = [run for group in groups for run in group.runs]
    columns = _label_columns(groups, sweep_alone(folders))
    for measure in _measures(runs, part):
        columns.append(_number_column(measure, groups))
    sink.write(DIALECTS[form](columns).encode())


def _measures(runs: Sequence[Run], part: str | None) -> list[PaperMeasure]:
    """Return the columns of numbers of a part, or the totals if nothing was measured."""
    if part == "targets":
        measures = _target_measures(runs)
    elif part == "summary":
        measures = _accuracy_measures(runs) + _total_measures()
    else:
        measures = _target_measures(runs) + _accuracy_measures(runs)
    return measures or _total_measures()


# Columns of labels


def _label_columns(groups: Sequence[SeedGroup], study: Study | None) -> list[TextColumn]:
    """Return the keys of a sweep, or else algorithm and label of each group, and the number of seeds if above 1."""
    columns = _name_columns(groups) if study is None else _key_columns(groups, study)
    seeds = [len(group.runs) for group in groups]
    if max(seeds) > 1:
        columns.append(TextColumn("", "seeds", [Cell(str(count)) for count in seeds]))
    return columns


def _key_columns(groups: Sequence[SeedGroup], study: Study) -> list[TextColumn]:
    columns = []
    for number, key in enumerate(study.keys):
        cells = [Cell(group.key_texts[number]) for group in groups]
        columns.append(TextColumn("", key.title, cells, left=key.numbers is None))
    return columns


def _name_columns(groups: Sequence[SeedGroup]) -> list[TextColumn]:
    """Return the label, and the algorithm where the label does not contain it."""
    labels = [group.label for group in groups]
    algorithms = [title("algorithm", describe.kind(group.runs[0].scenario, "algorithm")) for group in groups]
    name = "algorithm" if labels == algorithms else "run"
    columns = [TextColumn("", name, [Cell(label) for label in labels], left=True)]
    if any(algorithm not in label for algorithm, label in zip(algorithms, labels, strict=True)):
        columns.append(TextColumn("", "algorithm", [Cell(algorithm) for algorithm in algorithms], left=True))
    return columns


# Columns of numbers


def _target_measures(runs: Sequence[Run]) -> list[PaperMeasure]:
    """Return rounds, time and energy to each target, the lowest target first."""
    accuracy_of = {}
    # By title, as the accuracy of a relative target depends on the seed.
    for run in runs:
        for target in run.targets:
            accuracy_of[_target_title(target)] = target["accuracy"]
    measures = []
    for block in sorted(accuracy_of, key=accuracy_of.__getitem__):
        for name, key, units in COST_COLUMNS:
            measures.append(PaperMeasure(block, name, _target_reader(block, key), units, min))
    return measures


def _target_title(target: Mapping[str, Any]) -> str:
    if "relative" in target:
        return f"to {percent(target['relative'])} of the reference's best"
    return f"to {percent(target['accuracy'])}"


def _target_reader(title: str, key: str) -> Callable[[Run], RunNumber | None]:
    """Return a function that reads the cost of a target, or of the whole run if it was not reached."""

    def read(run: Run) -> RunNumber | None:
        for target in run.targets:
            if _target_title(target) != title:
                continue
            if reached(target):
                return RunNumber(float(target[key]))
            return RunNumber(_total(run, key), bound=True)
        return None

    return read


def _total(run: Run, key: str) -> float:
    if key == "round":
        return float(run.length)
    return float(run.total(key) or 0.0)


def _accuracy_measures(runs: Sequence[Run]) -> list[PaperMeasure]:
    """Return the final accuracy and the mean of the last tests, if accuracies were measured."""
    measures = []
    if any(run.final_accuracy is not None for run in runs):
        measures.append(PaperMeasure("accuracy", "final", _final_accuracy, PERCENT, max))
    test_counts = [run.summary["last"]["n"] for run in runs if run.summary.get("last")]
    if test_counts:
        name = f"last {max(test_counts)}"
        measures.append(PaperMeasure("accuracy", name, _last_mean_accuracy, PERCENT, max))
    return measures


def _final_accuracy(run: Run) -> RunNumber | None:
    return None if run.final_accuracy is None else RunNumber(run.final_accuracy)


def _last_mean_accuracy(run: Run) -> RunNumber | None:
    accuracy = (run.summary.get("last") or {}).get("mean_accuracy")
    return None if accuracy is None else RunNumber(accuracy)


def _total_measures() -> list[PaperMeasure]:
    """Return rounds, time and energy of whole runs; none is the best, as a shorter run is not better."""
    return [
        PaperMeasure("in all", name, lambda run, key=key: RunNumber(_total(run, key)), units)  # type: ignore[misc]
        for name, key, units in COST_COLUMNS
    ]


# Numbers of groups


def _number_column(measure: PaperMeasure, groups: Sequence[SeedGroup]) -> TextColumn:
    """Return the numbers of all groups in one unit, with the best of those known for all seeds marked."""
    statistics = [_statistic(measure, group) for group in groups]
    known = [statistic for statistic in statistics if statistic is not None]
    unit = fitting(max((statistic.value for statistic in known), default=0.0), measure.units)
    rivals = [statistic.value for statistic in known if statistic.comparable]
    best = None
    if measure.best and rivals and len(groups) > 1:
        best = measure.best(rivals)
    cells = []
    for statistic in statistics:
        if statistic is None:
            cells.append(Cell(NO_NUMBER))
        else:
            is_best = statistic.comparable and statistic.value == best
            cells.append(Cell(_statistic_text(statistic, unit), is_best))
    return TextColumn(measure.block, with_unit(measure.name, unit), cells)


def _statistic(measure: PaperMeasure, group: SeedGroup) -> SeedStatistic | None:
    """Return mean and standard deviation over seeds; a target that some missed has no mean (docs/export.md)."""
    values = []
    bounds = []  # of seeds that missed the target: their values are larger
    for run in group.runs:
        number = measure.read(run)
        if number is not None and number.bound:
            bounds.append(number.value)
        elif number is not None:
            values.append(number.value)
    count = len(values) + len(bounds)
    if count == 0:
        return None
    if not bounds:
        return SeedStatistic(fmean(values), stdev(values) if count > 1 else None)
    share = f"{len(values)}/{count}" if count > 1 else ""
    # A seed that missed the target counts as larger than all others (right-censored).
    ordered = sorted(values) + [math.inf] * len(bounds)
    median = ordered[count // 2]  # the upper one of an even number
    if math.isfinite(median):
        return SeedStatistic(median, share=share)
    return SeedStatistic(min(bounds), bound=True, share=share)


def _statistic_text(statistic: SeedStatistic, unit: Unit) -> str:
    """Return three digits, or two decimals of accuracies; the deviation has as many decimals."""
    value = statistic.value / unit.size
    is_count = statistic.std is None and not unit.name  # such as rounds to a target
    if is_count:
        places = 0
    elif unit in PERCENT or not value:
        places = 2
    else:
        places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    if statistic.bound:
        text = f">{text}"
    if statistic.std is not None:
        text += f" ± {statistic.std / unit.size:.{places}f}"
    if statistic.share:
        text += f" ({statistic.share})"
    return text
