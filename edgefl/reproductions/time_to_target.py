"""The table `time-to-target.csv`: the cost of a session to a share of a reference's best accuracy.

It has the form of dynamic devices, Table VII.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefl.reproductions.readings.base import numbers_of
from edgefl.results import metrics
from edgefl.results.csv_format import csv_bytes

if TYPE_CHECKING:
    from edgefl.reproductions.figure import Figure
    from edgefl.reproductions.records import Row

FILE = "time-to-target.csv"


class Taken(NamedTuple):
    """The cost of a run to the target, beside the reference with the same seed."""

    reached: bool
    round: float
    latency_s: float
    energy_j: float
    speed_up_rounds: float
    speed_up_time: float
    gain_points: float  # of the reference, summed over the session's rounds


def write(rows: Sequence[Row], figure: Figure, folder: Path) -> list[Path]:
    """Write medians over the seeds, with > where a seed never reached the target; return the file, none without curves.

    Args:
        rows: the runs, whose measures `figure.y` are accuracies, times and energies.
        figure: names the axis to compare, and the value that is the reference.
        folder: of the file.
    """
    (axis,) = figure.group
    settings: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in rows:
        if all(row.measures.get(name) for name in figure.y):
            setting = tuple(value for name, value in row.point.items() if name != axis)
            settings.setdefault(setting, {}).setdefault(row.point[axis], []).append(row)
    lines = []
    for by_value in settings.values():
        references = {row.seed: _curve(row, figure) for row in by_value.get(figure.reference, [])}
        for own in by_value.values():
            taken = [_taken(references[row.seed], row, figure) for row in own if row.seed in references]
            if taken:
                lines.append({**_without(own[0].point, axis), axis: own[0].point[axis], **_medians(taken)})
    if not lines:
        return []
    path = folder / FILE
    path.write_bytes(csv_bytes({name: [line[name] for line in lines] for name in lines[0]}))
    return [path]


def _without(point: Mapping[str, str], axis: str) -> dict[str, str]:
    return {name: value for name, value in point.items() if name != axis}


def _curve(row: Row, figure: Figure) -> metrics.AccuracyCurve:
    """Return the accuracy of a session's ordinary rounds over round, time and energy."""
    accuracy, time_s, energy_j = (np.array(numbers_of(row.measures[name])) for name in figure.y)
    rounds = np.arange(1.0, len(accuracy) + 1)
    return metrics.accuracy_curve({"round": rounds, "time_s": time_s, "energy_j": energy_j, "test_accuracy": accuracy})


def _taken(ours: metrics.AccuracyCurve, row: Row, figure: Figure) -> Taken:
    theirs = _curve(row, figure)
    to_target = metrics.reach(theirs, figure.share * ours.best)
    ups = metrics.speed_up(to_target, metrics.reach(ours, figure.share * ours.best))
    gain = metrics.accumulated_gain_points(*metrics.common(theirs, ours))
    return Taken(*to_target, ups[0], ups[1], gain)


def _medians(taken: Sequence[Taken]) -> dict[str, str]:
    bound = "" if all(one.reached for one in taken) else ">"
    texts = {"seeds": str(len(taken))}
    for name in Taken._fields[1:]:
        median = f"{np.median([getattr(one, name) for one in taken]):.4g}"
        texts[name] = median if name == "gain_points" else f"{bound}{median}"
    return texts
