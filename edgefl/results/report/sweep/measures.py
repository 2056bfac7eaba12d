"""The measures of a sweep, which are columns of ``index.csv``, and the goals that the page offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edgefl.core.units import BYTES, ENERGY, PLAIN, TIME, Unit, percent
from edgefl.results.report.sweep.study import Study

SPREAD_TITLES = {"jain_index": "Jain's index", "mean_age_rounds": "age of updates [rounds]"}  # of participation
TOTAL_TITLES = {
    "rounds": "rounds",
    "time_s": "time",
    "energy_j": "energy",
    "wasted_j": "wasted energy",
    "bs_energy_j": "energy of base stations",
    "bytes_down": "sent to devices",
    "bytes_up": "sent by devices",
    **SPREAD_TITLES,
}
ACCURACY_TITLES = {"final_accuracy": "final accuracy", "best_accuracy": "best accuracy"}
UNITS_BY_NAME: Mapping[str, Sequence[Unit]] = {
    "time_s": TIME,
    "energy_j": ENERGY,
    "wasted_j": ENERGY,
    "bs_energy_j": ENERGY,
    "bytes_down": BYTES,
    "bytes_up": BYTES,
}
# Costs of a target, and the total of the run that bounds each from below where the target was missed.
TARGET_BOUNDS = {"round": "rounds", "time_s": "time_s", "energy_j": "energy_j", "bs_energy_j": "bs_energy_j"}


class SweepMeasure(NamedTuple):
    """A column of ``index.csv``.

    `bound` names another column: a run that missed the target would have taken more than it has there. Empty for
    measures that every finished run has.
    """

    name: str
    title: str
    units: Sequence[Unit]
    bound: str = ""

    @property
    def is_accuracy(self) -> bool:
        """Return whether the measure is a fraction, shown in percent."""
        return self.name.endswith("accuracy")

    @property
    def higher_is_better(self) -> bool:
        """Return whether the best point is the one with the highest value."""
        return self.is_accuracy or self.name == "jain_index"


class Goal(NamedTuple):
    """A target accuracy, or the whole run, with the names of the measures of its time and energy."""

    title: str  # "to 90 %"
    target: str  # "90 %"; empty for the whole run
    time: str
    energy: str


WHOLE_RUN = Goal("the whole run", "", "time_s", "energy_j")


def goals(study: Study) -> list[Goal]:
    """Return the targets, lowest first, then the whole run."""
    every = []
    for name in study.targets:
        target = percent(name)
        every.append(Goal(f"to {target}", target, f"target_{name}_time_s", f"target_{name}_energy_j"))
    every.append(WHOLE_RUN)
    return every


def measures(study: Study) -> list[SweepMeasure]:
    """Return the measures that the sweep has: those of targets, then the totals, then the accuracies."""
    every = []
    for name in study.targets:
        for cost, bound in TARGET_BOUNDS.items():
            column = f"target_{name}_{cost}"
            title = f"{TOTAL_TITLES[bound]} to {percent(name)}"
            if bound in study.numbers:  # only some sweeps account for base stations
                every.append(SweepMeasure(column, title, UNITS_BY_NAME.get(cost, PLAIN), bound))
    titles = dict(TOTAL_TITLES)
    if study.has_accuracy:
        titles |= ACCURACY_TITLES
    for name, title in titles.items():
        if name in study.numbers:  # only some sweeps have all
            every.append(SweepMeasure(name, title, UNITS_BY_NAME.get(name, PLAIN)))
    return every


def measure_title(measure: SweepMeasure, goal: Goal) -> str:
    """Return the time or the energy of a goal in words: ``time to 90 %``, ``energy of the whole run``."""
    if goal.target:
        return measure.title
    return f"{measure.title} of {goal.title}"
