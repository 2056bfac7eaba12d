"""What is measured of the points of a sweep: estimates over seeds, the best point, the others' distance from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.units import BYTES, ENERGY, NO_NUMBER, PLAIN, TIME, Unit, digits, fitting, percent, score, spread
from edgefl.results import statistics
from edgefl.results.report.sweep.study import Study
from edgefl.results.statistics import Paired, SeedEstimate

SIGNIFICANT = 0.05
UNITS: Mapping[str, Sequence[Unit]] = {
    "time_s": TIME,
    **dict.fromkeys(("energy_j", "wasted_j"), ENERGY),
    **dict.fromkeys(("bytes_down", "bytes_up"), BYTES),
}


class Measure(NamedTuple):
    """A column of ``index.csv``; `bound` is the one that a run which never got there exceeds."""

    name: str
    title: str
    units: Sequence[Unit]
    bound: str = ""

    @property
    def accuracy(self) -> bool:
        """Whether more is better, and a fraction."""
        return self.name.endswith("accuracy")


class Column(NamedTuple):
    """A measure of all points [points]: against the best one the paired differences and Holm's p."""

    measure: Measure
    estimates: Sequence[SeedEstimate]
    best: int | None
    against: Sequence[Paired]
    p: Sequence[float]


class Goal(NamedTuple):
    """A target, or the whole run, with the columns of what it takes."""

    title: str  # "to 90 %"
    time: str
    energy: str


WHOLE = Goal("the whole run", "time_s", "energy_j")


def goals(study: Study) -> list[Goal]:
    """The targets, then the whole run."""
    found = [Goal(f"to {percent(name)}", f"target_{name}_time_s", f"target_{name}_energy_j") for name in study.targets]
    return [*found, WHOLE]


def columns(study: Study) -> dict[str, Column]:
    """All measures, by name."""
    return {measure.name: _column(study, measure) for measure in _measures(study)}


def _measures(study: Study) -> list[Measure]:
    titles = {"rounds": "rounds", "time_s": "time", "energy_j": "energy", "wasted_j": "energy in vain"}
    titles |= {"bytes_down": "sent to devices", "bytes_up": "sent by devices"}
    accuracies = {"final_accuracy": "final accuracy", "best_accuracy": "best accuracy"} if study.learned else {}
    totals = [
        Measure(name, title, UNITS.get(name, PLAIN))
        for name, title in (titles | accuracies).items()
        if name in study.numbers
    ]
    ways = (("round", "rounds"), ("time_s", "time_s"), ("energy_j", "energy_j"))
    reaching = [
        Measure(f"target_{target}_{way}", f"{titles[bound]} to {percent(target)}", UNITS.get(way, PLAIN), bound)
        for target in study.targets
        for way, bound in ways
    ]
    return reaching + totals


def _column(study: Study, measure: Measure) -> Column:
    values = study.numbers[measure.name]
    bounds = study.numbers[measure.bound] if measure.bound else values
    estimates = [
        statistics.estimate(values[rows], bounds[rows])
        for rows in ([row for row in rows if measure.bound or np.isfinite(values[row])] for rows in study.finished)
    ]
    best = _best(estimates, more=measure.accuracy)
    against = (
        [] if best is None else [statistics.paired(reference, one) for reference, one in _pairs(study, values, best)]
    )
    tested = [one.p if place != best else math.nan for place, one in enumerate(against)]
    return Column(measure, estimates, best, against, statistics.holm(tested).tolist())


def _pairs(study: Study, values: Any, best: int) -> list[tuple[dict[int, float], dict[int, float]]]:
    """Values by seed, of the best point and of each."""
    seeds = study.numbers["seed"].astype(int).tolist()
    each = [{seeds[row]: float(values[row]) for row in rows} for rows in study.finished]
    return [(each[best], one) for one in each]


def _best(estimates: Sequence[SeedEstimate], *, more: bool) -> int | None:
    """The best mean, or median where no point got there under every seed; None where there is nothing to choose."""
    known = [place for place, one in enumerate(estimates) if np.isfinite(one.central)]
    whole = [place for place in known if estimates[place].reached == estimates[place].n]
    centrals = {place: estimates[place].central for place in whole or known}
    if len(estimates) < 2 or not centrals or len(set(centrals.values())) == 1 < len(centrals):
        return None
    return (max if more else min)(centrals, key=lambda place: centrals[place])


def told(estimate: SeedEstimate, measure: Measure) -> str:
    """An estimate in a few characters: ``12.4 ± 0.3 s``, ``median 12 s (2 of 3)``, ``> 15 s (1 of 3)``."""
    if not estimate.n:
        return NO_NUMBER
    if estimate.reached == estimate.n:
        half = estimate.half if math.isfinite(estimate.half) else None
        return _score(estimate.mean, half) if measure.accuracy else _quantity(estimate.mean, half, measure.units)
    seeds = f"({estimate.reached} of {estimate.n})"
    if math.isfinite(estimate.median):
        return f"median {_quantity(estimate.median, None, measure.units)} {seeds}"
    return f"> {_quantity(estimate.above, None, measure.units)} {seeds}"


def _score(value: float, half: float | None) -> str:
    return score(value) if half is None else spread(value, half)


def _quantity(value: float, half: float | None, units: Sequence[Unit]) -> str:
    """A quantity and half its interval, to two digits, in one unit."""
    unit = fitting(max(abs(value), half or 0.0), units)
    around = "" if half is None else f" ± {digits(float(f'{half / unit.size:.2g}'))}"
    return f"{digits(value / unit.size)}{around} {unit.name}".rstrip()


def difference(paired: Paired, measure: Measure) -> str:
    """A difference with its sign: ``+1.2 ± 0.1 s``; in points where it is one of accuracies."""
    if not math.isfinite(paired.mean):
        return NO_NUMBER
    half = paired.half if math.isfinite(paired.half) else None
    if measure.accuracy:
        text = f"{abs(100 * paired.mean):.2f}" + ("" if half is None else f" ± {100 * half:.2f}") + " points"
    else:
        text = _quantity(abs(paired.mean), half, measure.units)
    return f"{'−' if paired.mean < 0 else '+'}{text}"


def table(study: Study, found: Mapping[str, Column]) -> dict[str, list[Any]]:
    """The columns of ``statistics.csv``: a row a point, None where there is no number (docs/sweep-report.md)."""
    result: dict[str, list[Any]] = {"point": [point.label for point in study.points]}
    first = [point.rows[0] for point in study.points]
    result |= {key.path: [study.texts[key.path][row] for row in first] for key in study.keys}
    result |= {"runs": [len(point.rows) for point in study.points], "finished": [len(rows) for rows in study.finished]}
    for name, column in found.items():
        parts = ["mean", "std", "half", "median", "above"] if column.measure.bound else ["mean", "std", "half"]
        if column.measure.bound:
            result[f"{name}_reached"] = [one.reached for one in column.estimates]
        for part in parts:
            result[f"{name}_{'ci95' if part == 'half' else part}"] = _cells(
                [getattr(one, part) for one in column.estimates]
            )
        if column.best is not None:
            against = {"mean": "difference", "half": "difference_ci95"}
            for part, title in against.items():
                result[f"{name}_{title}"] = _cells([getattr(one, part) for one in column.against])
            result[f"{name}_p"] = _cells(column.p)
    return result


def _cells(values: Sequence[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]
