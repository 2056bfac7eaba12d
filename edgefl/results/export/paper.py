"""A table for a paper, in LaTeX or Markdown: one row for all runs that differ only in their seed."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import IO, Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.units import NO_NUMBER, PERCENT, Unit, fitting, percent, with_unit
from edgefl.records.quantities import SHORT_NAMES, Quantity, costs_of
from edgefl.results.export import EFFECTS
from edgefl.results.export.dialects import DIALECTS, NOTE, Cell, TextColumn
from edgefl.results.export.effects_table import effect_table, formatted
from edgefl.results.export.exported_runs import check_options, groups_of, groups_of_points, sweep_alone
from edgefl.results.export.pivot import pivot
from edgefl.results.member_titles import title
from edgefl.results.report.comparison.seed_groups import SeedGroup
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run, reached
from edgefl.results.report.sweep.estimates import chosen_goal, estimate_columns
from edgefl.results.report.sweep.gathering import gathered
from edgefl.results.report.sweep.selection import NO_CHOICE, StudyChoice, chosen_study, split
from edgefl.results.report.sweep.study import Study
from edgefl.results.statistics import half_interval

TABLE_OPTIONS = frozenset({"where", "rows", "columns", "target", "measure", "interval"})
BEST: Mapping[str, Callable[[Sequence[float]], float] | None] = {"more": max, "less": min, "": None}


class RunNumber(NamedTuple):
    """A number of one run: a cost, or a lower `bound` of it."""

    value: float
    bound: bool = False


class SeedStatistic(NamedTuple):
    """A number of a group: the mean over seeds, or a median or bound if some seeds missed a target."""

    value: float
    spread: float | None = None  # standard deviation (n - 1) over seeds, or half of the confidence interval
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
    units: Sequence[Unit]  # the largest number selects one of them
    best: Callable[[Sequence[float]], float] | None = None  # min or max

    @property
    def title(self) -> str:
        """Return the measure in words, such as ``time to 80 %`` or ``final accuracy``."""
        words = [self.name, self.block]
        return " ".join(word for word in words if word)


def write(
    folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, choice: StudyChoice = NO_CHOICE
) -> None:
    """Write targets and accuracies; or only `targets`, a `summary` of accuracies and totals, or `effects` of keys."""
    study = sweep_alone(folders)
    if part == EFFECTS:
        check_options(choice, {"where", "facet", "baseline", "target", "at", "measure"}, "another table or figure")
        sink.write(formatted(effect_table(gathered(folders), choice), form).encode())
        return
    if study is not None:
        check_options(choice, TABLE_OPTIONS, "--figure sweep or --table effects")
        columns, note = sweep_table(study, choice, part)
    else:
        check_options(choice, {"interval"}, "the folder of a sweep")
        groups = groups_of(folders)
        columns = _name_columns(groups) + _seed_columns(groups)
        for measure in measures_of(groups, part):
            columns.append(number_column(measure, groups, choice.interval, [()] * len(groups)))
        note = note_of(choice.interval)
    sink.write(DIALECTS[form](columns, note).encode())


def sweep_table(study: Study, choice: StudyChoice, part: str | None) -> tuple[list[TextColumn], str]:
    """Return the columns of a sweep's table, and the note below it: a row for each point, or a pivot of them.

    Raises:
        InputError: the sweep has no such key, value, target or measure.
    """
    chosen = chosen_study(study, choice)
    groups_by_point = groups_of_points(chosen)
    points = list(groups_by_point)
    groups = list(groups_by_point.values())
    measures = chosen_paper_measures(chosen, choice, groups, part)
    conditions = [condition_of(chosen, point) for point in points]
    note = note_of(choice.interval)
    if chosen.method is not None and len(chosen.keys) > 1:
        note += f" Bold: the best {chosen.keys[chosen.method].title} at each setting of the other keys."
    numbers = [number_column(measure, groups, choice.interval, conditions) for measure in measures]
    if choice.rows or choice.columns:
        titles = [measure.title for measure in measures]
        return pivot(chosen, choice, points, titles, numbers), note
    return _key_columns(chosen, points) + _seed_columns(groups) + numbers, note


def condition_of(study: Study, point: int) -> tuple[int, ...]:
    """Return the values of all keys but the method's: points that share them are rivals."""
    if study.method is None:
        return ()
    indices = study.points[point].value_indices
    return (*indices[: study.method], *indices[study.method + 1 :])


def chosen_paper_measures(
    study: Study, choice: StudyChoice, groups: Sequence[SeedGroup], part: str | None
) -> list[PaperMeasure]:
    """Return the measures of a sweep's table that a user chooses, else those of the part; of a pivot, the time.

    Raises:
        InputError: the sweep has no such target or measure.
    """
    is_pivot = bool(choice.rows or choice.columns)
    if not is_pivot and not choice.measure and choice.target is None:
        return measures_of(groups, part)
    columns = estimate_columns(study)
    goal = chosen_goal(study, columns, choice.target)
    default: Sequence[str] = ("rounds", "time", "energy")
    if is_pivot:
        default = ("time",)
    names = choice.measure or default
    runs = [run for group in groups for run in group.runs]
    costs = [measure for measure in _target_measures(runs) if measure.block == goal.title] or _total_measures(runs)
    by_title = {measure.name: measure for measure in costs}
    known = {cost.name: by_title[cost.title] for cost in _costs(runs)}
    for measure in _accuracy_measures(runs)[:1]:
        known["final_accuracy"] = measure
    for one in {one.name: one for run in runs for one in run.quantities}.values():
        if one.name not in known and any(one.of(run.summary) is not None for run in runs):
            known[one.name] = PaperMeasure("", one.title, _reader(one), one.units, BEST[one.better])
    short = {word: known[name] for word, name in SHORT_NAMES.items() if name in known}
    known = short | known
    chosen = split(names)
    for name in chosen:
        if name not in known:
            raise InputError(f"export: --measure {name}: is not in this table: use one of {', '.join(known)}")
    return [known[name] for name in chosen]


def _reader(of: Quantity) -> Callable[[Run], RunNumber | None]:
    return lambda run: _run_number(of.of(run.summary))


def measures_of(groups: Sequence[SeedGroup], part: str | None) -> list[PaperMeasure]:
    """Return the columns of numbers of a part, or the totals if nothing was measured."""
    runs = [run for group in groups for run in group.runs]
    if part == "targets":
        measures = _target_measures(runs)
    elif part == "summary":
        measures = _accuracy_measures(runs) + _total_measures(runs)
    else:
        measures = _target_measures(runs) + _accuracy_measures(runs)
    return measures or _total_measures(runs)


def note_of(interval: str | None) -> str:
    """Return the note below a table, which says what follows the sign ±."""
    if interval == "ci95":
        return NOTE.replace("standard deviation over seeds", "half of its 95 % confidence interval over seeds")
    return NOTE


# Columns of labels


def _seed_columns(groups: Sequence[SeedGroup]) -> list[TextColumn]:
    seeds = [len(group.runs) for group in groups]
    if max(seeds) == 1:
        return []
    return [TextColumn("", "seeds", [Cell(str(count)) for count in seeds])]


def _key_columns(study: Study, points: Sequence[int]) -> list[TextColumn]:
    columns = []
    for number, key in enumerate(study.keys):
        cells = [Cell(key.texts[study.points[point].value_indices[number]]) for point in points]
        columns.append(TextColumn("", key.title, cells, left=key.numbers is None))
    return columns


def _name_columns(groups: Sequence[SeedGroup]) -> list[TextColumn]:
    """Return the label, and the algorithm where the label does not contain it."""
    labels = [group.label for group in groups]
    algorithms = [title("algorithm", describe.kind(group.runs[0].scenario, "algorithm")) for group in groups]
    name = "run"
    if labels == algorithms:
        name = "algorithm"
    columns = [TextColumn("", name, [Cell(label) for label in labels], left=True)]
    if any(algorithm not in label for algorithm, label in zip(algorithms, labels, strict=True)):
        columns.append(TextColumn("", "algorithm", [Cell(algorithm) for algorithm in algorithms], left=True))
    return columns


# Columns of numbers


def _target_measures(runs: Sequence[Run]) -> list[PaperMeasure]:
    accuracy_of = {}
    # By title, as the accuracy of a relative target depends on the seed.
    for run in runs:
        for target in run.targets:
            accuracy_of[_target_title(target)] = target["accuracy"]
    measures = []
    costs = _costs(runs)
    for block in sorted(accuracy_of, key=accuracy_of.__getitem__):
        measures += [PaperMeasure(block, cost.title, _target_reader(block, cost), cost.units, min) for cost in costs]
    return measures


def _target_title(target: Mapping[str, Any]) -> str:
    if "relative" in target:
        return f"to {percent(target['relative'])} of the reference's best"
    return f"to {target.get('title') or percent(target['accuracy'])}"


def _costs(runs: Sequence[Run]) -> list[Quantity]:
    """Return the costs that all these runs have."""
    shared = set.intersection(*(set(run.summary) for run in runs))
    return [cost for cost in costs_of(runs[0].quantities, shared) if not cost.end_of]


def _target_reader(title: str, cost: Quantity) -> Callable[[Run], RunNumber | None]:
    def read(run: Run) -> RunNumber | None:
        for target in run.targets:
            if _target_title(target) != title:
                continue
            if reached(target):
                return RunNumber(float(target[cost.at_target]))
            return RunNumber(_total(run, cost), bound=True)
        return None

    return read


def _total(run: Run, cost: Quantity) -> float:
    return float(run.value(cost) or 0.0)


def _accuracy_measures(runs: Sequence[Run]) -> list[PaperMeasure]:
    measures = []
    if any(run.final_accuracy is not None for run in runs):
        measures.append(PaperMeasure("accuracy", "final", _final_accuracy, PERCENT, max))
    test_counts = [run.summary["last"]["n"] for run in runs if run.summary.get("last")]
    if test_counts:
        name = f"last {max(test_counts)}"
        measures.append(PaperMeasure("accuracy", name, _last_mean_accuracy, PERCENT, max))
    return measures


def _final_accuracy(run: Run) -> RunNumber | None:
    return _run_number(run.final_accuracy)


def _last_mean_accuracy(run: Run) -> RunNumber | None:
    return _run_number((run.summary.get("last") or {}).get("mean_accuracy"))


def _run_number(value: float | None) -> RunNumber | None:
    if value is None:
        return None
    return RunNumber(float(value))


def _total_measures(runs: Sequence[Run]) -> list[PaperMeasure]:
    """Return rounds, time and energy of whole runs; none is the best, as a shorter run is not better."""
    return [
        PaperMeasure("in all", cost.title, lambda run, cost=cost: RunNumber(_total(run, cost)), cost.units)  # type: ignore[misc]
        for cost in _costs(runs)
    ]


# Numbers of groups


def number_column(
    measure: PaperMeasure, groups: Sequence[SeedGroup], interval: str | None, conditions: Sequence[tuple[int, ...]]
) -> TextColumn:
    """Return the numbers of all groups in one unit.

    Of the groups with one condition [groups], the best of those known for all seeds is marked.
    """
    statistics = [_statistic(measure, group, interval) for group in groups]
    known = [statistic for statistic in statistics if statistic is not None]
    unit = fitting(max((statistic.value for statistic in known), default=0.0), measure.units)
    rivals: dict[tuple[int, ...], list[float]] = {}
    for statistic, condition in zip(statistics, conditions, strict=True):
        if statistic is not None and statistic.comparable:
            rivals.setdefault(condition, []).append(statistic.value)
    cells = []
    for statistic, condition in zip(statistics, conditions, strict=True):
        if statistic is None:
            cells.append(Cell(NO_NUMBER))
            continue
        is_best = False
        if measure.best and statistic.comparable and conditions.count(condition) > 1:
            is_best = statistic.value == measure.best(rivals[condition])
        cells.append(Cell(_statistic_text(statistic, unit), is_best))
    return TextColumn(measure.block, with_unit(measure.name, unit), cells)


def _statistic(measure: PaperMeasure, group: SeedGroup, interval: str | None) -> SeedStatistic | None:
    """Return mean and spread over seeds; a target that some missed has no mean (docs/export.md)."""
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
        return SeedStatistic(fmean(values), _spread(values, interval))
    share = ""
    if count > 1:
        share = f"{len(values)}/{count}"
    # A seed that missed the target counts as larger than all others (right-censored).
    ordered = sorted(values) + [math.inf] * len(bounds)
    median = ordered[count // 2]  # the upper one of an even number
    if math.isfinite(median):
        return SeedStatistic(median, share=share)
    return SeedStatistic(min(bounds), bound=True, share=share)


def _spread(values: Sequence[float], interval: str | None) -> float | None:
    if len(values) < 2:
        return None
    if interval == "ci95":
        return half_interval(stdev(values), len(values))
    return stdev(values)


def _statistic_text(statistic: SeedStatistic, unit: Unit) -> str:
    """Return three digits, or two decimals of accuracies; the spread has as many decimals."""
    value = statistic.value / unit.size
    is_count = statistic.spread is None and not unit.name  # such as rounds to a target
    if is_count:
        places = 0
    elif unit in PERCENT or not value:
        places = 2
    else:
        places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    if statistic.bound:
        text = f">{text}"
    if statistic.spread is not None:
        text += f" ± {statistic.spread / unit.size:.{places}f}"
    if statistic.share:
        text += f" ({statistic.share})"
    return text
