"""The cost of a session to a share of Proposed's best accuracy, in the form of dynamic devices, Table VII."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.readings.base import numbers_of
from edgefl.reproductions.records import Row
from edgefl.results import metrics
from edgefl.results.csv_format import csv_bytes

REFERENCE = "Proposed"
SHARES = {"tiny-imagenet": 0.95}  # of the reference's best accuracy, by the end of the recipe's name; as in the paper
USUAL_SHARE = 0.97
CURVES = ("curve", "times_s", "energies_j")


class Taken(NamedTuple):
    """The cost of a strategy to the target in one run, beside the reference with the same seed."""

    reached: bool
    round: float
    latency_s: float
    energy_j: float
    speed_up_rounds: float
    speed_up_time: float
    gain_points: float  # of the reference, summed over the session's rounds


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write time-to-target.csv: medians over the seeds, with > where a seed never got there; nothing without curves."""
    lines = [line for setting in _settings(comparison) for line in _lines(comparison, setting)]
    if not lines:
        return []
    path = folder / "time-to-target.csv"
    path.write_bytes(csv_bytes({name: [line[name] for line in lines] for name in lines[0]}))
    return [path]


def _settings(comparison: Comparison) -> list[dict[str, str]]:
    """Return the values of all axes but the strategy, once each, in the order of the rows."""
    found = {}
    for row in comparison.rows:
        setting = {axis: value for axis, value in row.point.items() if axis != "strategy"}
        found[tuple(setting.values())] = setting
    return list(found.values())


def _lines(comparison: Comparison, setting: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the line of each strategy."""
    rows = [row for row in comparison.rows if setting.items() <= row.point.items() and _has_curves(row)]
    references = {row.seed: row for row in rows if row.point["strategy"] == REFERENCE}
    for strategy in dict.fromkeys(row.point["strategy"] for row in rows):
        own = [row for row in rows if row.point["strategy"] == strategy and row.seed in references]
        taken = [_taken(references[row.seed], row, _share(comparison)) for row in own]
        if taken:
            yield {**setting, "strategy": strategy, "seeds": str(len(taken)), **_medians(taken)}


def _has_curves(row: Row) -> bool:
    return all(row.measures.get(name) for name in CURVES)


def _share(comparison: Comparison) -> float:
    """Return the share of the reference's best accuracy that is the target."""
    name = comparison.name
    return next((share for ending, share in SHARES.items() if name.endswith(ending)), USUAL_SHARE)


def _curve(row: Row) -> metrics.AccuracyCurve:
    """Return the accuracy of a session's ordinary rounds over round, time and energy."""
    accuracy, time_s, energy_j = (np.array(numbers_of(row.measures[name])) for name in CURVES)
    rounds = np.arange(1.0, len(accuracy) + 1)
    return metrics.accuracy_curve({"round": rounds, "time_s": time_s, "energy_j": energy_j, "test_accuracy": accuracy})


def _taken(reference: Row, row: Row, share: float) -> Taken:
    ours = _curve(reference)
    theirs = _curve(row)
    to_target = metrics.reach(theirs, share * ours.best)
    ups = metrics.speed_up(to_target, metrics.reach(ours, share * ours.best))
    gain = metrics.accumulated_gain_points(*metrics.common(theirs, ours))
    return Taken(*to_target, ups[0], ups[1], gain)


def _medians(taken: list[Taken]) -> dict[str, str]:
    """Return the texts of a line: medians over the seeds."""
    bound = ">"
    if all(one.reached for one in taken):
        bound = ""
    texts = {}
    for name in Taken._fields[1:]:
        median = float(np.median([getattr(one, name) for one in taken]))
        texts[name] = f"{median:.4g}"
        if name != "gain_points":
            texts[name] = bound + texts[name]
    return texts
