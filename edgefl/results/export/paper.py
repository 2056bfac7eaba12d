"""A table for a paper, in LaTeX or Markdown: a row for all the runs that differ in nothing but their seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import IO, Any, NamedTuple

from edgefl.core.units import ENERGY, NOTHING, PLAIN, TIME, Unit, fitting, percent
from edgefl.results.export.dialects import DIALECTS, Cell, Column
from edgefl.results.export.groups import Group, grouped
from edgefl.results.report import describe
from edgefl.results.report.read import Run, load_all, reached

SCORE = (Unit("%", 0.01, 0),)
TOTALS = (("rounds", "round", PLAIN), ("time", "time_s", TIME), ("energy", "energy_j", ENERGY))


class Cost(NamedTuple):
    """A number of a run: what something took or, where `known` is false, more than this."""

    value: float
    known: bool = True


class Measure(NamedTuple):
    """A column before its numbers are written."""

    block: str
    name: str
    read: Callable[[Run], Cost | None]
    units: Sequence[Unit]
    best: Callable[..., float] | None = None  # of several: the least, or the most


class Figure(NamedTuple):
    """A number of a group: a mean, or where not every seed reached a target, the median of all, maybe a bound."""

    value: float
    std: float | None = None  # over seeds
    known: bool = True
    share: str = ""  # of the seeds that reached it, where not all did


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """Targets and accuracies; `targets` alone, or a `summary` of accuracies and totals."""
    runs = load_all(folders, details=False)
    groups = grouped(runs)
    blocks = {"targets": _targets(runs), "accuracies": _accuracies(runs), "totals": _totals()}
    wanted = {"targets": ["targets"], "summary": ["accuracies", "totals"], None: ["targets", "accuracies"]}[part]
    measures = [measure for block in wanted for measure in blocks[block]] or blocks["totals"]
    columns = [*_names(groups), *(_column(measure, groups) for measure in measures)]
    sink.write(DIALECTS[form](columns).encode())


def _names(groups: Sequence[Group]) -> list[Column]:
    """Label where the algorithm does not say it all, algorithm, and how many seeds where there are several."""
    algorithms = [describe.kind(group.runs[0].scenario, "algorithm") for group in groups]
    columns = [Column("", "algorithm", [Cell(algorithm) for algorithm in algorithms], text=True)]
    if (labels := [group.label for group in groups]) != algorithms:
        columns.insert(0, Column("", "run", [Cell(label) for label in labels], text=True))
    if any(len(group.runs) > 1 for group in groups):
        columns.append(Column("", "seeds", [Cell(str(len(group.runs))) for group in groups]))
    return columns


def _targets(runs: Sequence[Run]) -> list[Measure]:
    """Rounds, time and energy to each target, the lowest first."""
    titles = {_title(target): target["accuracy"] for run in runs for target in run.targets}
    return [
        Measure(title, name, _to(title, key), units, min)
        for title in sorted(titles, key=titles.__getitem__)
        for name, key, units in TOTALS
    ]


def _title(target: Mapping[str, Any]) -> str:
    """What targets of different seeds have in common."""
    if "relative" in target:
        return f"to {percent(target['relative'])} of the reference's best"
    return f"to {percent(target['accuracy'])}"


def _to(title: str, key: str) -> Callable[[Run], Cost | None]:
    """Reads what a target took, or that it took more than the whole run."""

    def read(run: Run) -> Cost | None:
        target = next((one for one in run.targets if _title(one) == title), None)
        if target is None:
            return None
        return Cost(float(target[key])) if reached(target) else Cost(_total(run, key), known=False)

    return read


def _total(run: Run, key: str) -> float:
    return float(run.length if key == "round" else run.total(key) or 0.0)


def _accuracies(runs: Sequence[Run]) -> list[Measure]:
    """Final accuracy, and the mean of the last tests; nothing where none was measured."""
    counts = {last["n"] for run in runs if (last := run.summary.get("last"))}
    name = f"last {max(counts)}" if counts else ""
    final = Measure("accuracy", "final", _known(lambda run: run.final_accuracy), SCORE, max)
    last = Measure(
        "accuracy", name, _known(lambda run: (run.summary.get("last") or {}).get("mean_accuracy")), SCORE, max
    )
    learned = any(run.final_accuracy is not None for run in runs)
    return [*([final] if learned else []), *([last] if counts else [])]


def _totals() -> list[Measure]:
    """Of whole runs."""

    def reader(key: str) -> Callable[[Run], Cost | None]:
        return lambda run: Cost(_total(run, key))

    return [Measure("in all", name, reader(key), units) for name, key, units in TOTALS]


def _known(read: Callable[[Run], float | None]) -> Callable[[Run], Cost | None]:
    def cost(run: Run) -> Cost | None:
        value = read(run)
        return None if value is None else Cost(value)

    return cost


def _column(measure: Measure, groups: Sequence[Group]) -> Column:
    """The numbers of all groups in one unit, the best of those that are known for all seeds marked."""
    figures = [_figure([cost for run in group.runs if (cost := measure.read(run))]) for group in groups]
    unit = fitting(max((figure.value for figure in figures if figure), default=0.0), measure.units)
    texts = [NOTHING if figure is None else _text(figure, unit) for figure in figures]
    rivals = [figure.value if figure and figure.known and not figure.share else math.nan for figure in figures]
    known = [value for value in rivals if not math.isnan(value)] if len(groups) > 1 else []
    best = measure.best(known) if measure.best and known else math.nan
    cells = [Cell(text, best=value == best) for text, value in zip(texts, rivals, strict=True)]
    return Column(measure.block, f"{measure.name} [{unit.name}]" if unit.name else measure.name, cells)


def _figure(costs: Sequence[Cost]) -> Figure | None:
    """Mean and standard deviation over seeds; a target that some did not reach has no mean (docs/export.md)."""
    if not costs:
        return None
    values, missed = [cost.value for cost in costs if cost.known], [cost.value for cost in costs if not cost.known]
    if not missed:
        return Figure(fmean(values), stdev(values) if len(values) > 1 else None)
    share = f"{len(values)}/{len(costs)}" if len(costs) > 1 else ""
    middle = sorted([*values, *[math.inf] * len(missed)])[len(costs) // 2]
    return Figure(middle, share=share) if math.isfinite(middle) else Figure(min(missed), known=False, share=share)


def _text(figure: Figure, unit: Unit) -> str:
    """Three digits, of accuracies two decimals; the deviation with as many decimals."""
    value, whole = figure.value / unit.size, figure.std is None and not unit.name
    places = 0 if whole else 2 if unit in SCORE or not value else max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}" if figure.known else f">{value:.{places}f}"
    spread = "" if figure.std is None else f" ± {figure.std / unit.size:.{places}f}"
    return text + spread + (f" ({figure.share})" if figure.share else "")
