"""The verdict on several runs: tiles with the setting that takes least or ends best, the next one, and a p-value.

Settings are compared seed by seed. The best one is known only after all have been seen, so its p-value is Holm's over
all pairs of settings.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from edgefl.core.units import ENERGY, PERCENT, TIME, Unit, as_number, digits, percent
from edgefl.results import statistics
from edgefl.results.reader import FINISHED_STATUS
from edgefl.results.report.comparison.headline import Tile
from edgefl.results.report.comparison.pooled_seeds import PooledRuns, spread_text
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run, reached
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.templates import Html, macro, render
from edgefl.results.scenario_tree import has_deadline
from edgefl.results.statistics import FEWEST_FOR_INTERVAL, Paired

SAME_RELATIVE = 1e-9  # of the larger: means that are closer are a draw


class Measure(NamedTuple):
    """A number in which settings are compared."""

    title: str  # of its tile
    value_of: Callable[[Run], float | None]
    units: Sequence[Unit]
    sign: int = 1  # -1 if more is better


class Setting(NamedTuple):
    """Runs that differ only in their seed."""

    look: StyledRun
    runs: Mapping[int, Run]  # by seed


class Ranking(NamedTuple):
    """The settings that have a value under every seed, the best first, with their values by seed."""

    measure: Measure
    settings: Sequence[Setting]
    values: Sequence[Mapping[int, float]]
    pair: Paired | None  # the first two, seed by seed; None without a second one
    p: float  # of that pair, adjusted; NaN if undefined

    @property
    def means(self) -> list[float]:
        """The mean of each setting over its seeds."""
        return [float(np.mean(list(of_setting.values()))) for of_setting in self.values]

    @property
    def leaders(self) -> Sequence[Setting]:
        """The settings that share the first place."""
        means = self.means
        near = SAME_RELATIVE * max(map(abs, means))
        pairs = zip(self.settings, means, strict=True)
        return [setting for setting, mean in pairs if abs(mean - means[0]) <= near]


def section(runs: Sequence[StyledRun], groups: Sequence[PooledRuns]) -> Html:
    """Return tiles with the best settings; an empty text if nothing can be compared.

    The `groups` are the same runs, pooled by seed; none if each is a setting of its own.
    """
    settings = _settings(runs, groups)
    found = rankings(settings)
    if not found:
        return Html()
    fewest = min(len(setting.runs) for setting in settings)
    return render(
        "comparison/verdict.html.j2",
        rows=[[_tile(ranking) for ranking in found]],
        one_seed=fewest == 1,
        enough=FEWEST_FOR_INTERVAL,
    )


def rankings(settings: Sequence[Setting]) -> list[Ranking]:
    """Return the settings in the order of each measure; none if they cannot be compared."""
    runs = [run for setting in settings for run in setting.runs.values()]
    datasets = {str(describe.at(run.scenario, "data.dataset")) for run in runs}
    if len(settings) < 2 or len(datasets) > 1 or any(run.manifest.get("status") != FINISHED_STATUS for run in runs):
        return []
    ranked = [_ranking(measure, settings) for measure in _measures(settings)]
    return [ranking for ranking in ranked if ranking is not None]


def _settings(runs: Sequence[StyledRun], groups: Sequence[PooledRuns]) -> list[Setting]:
    if not groups:
        return [Setting(run, {_seed(run.data): run.data}) for run in runs]
    return [Setting(group.look, {_seed(run.data): run.data for run in group.runs}) for group in groups]


def _seed(run: Run) -> int:
    return int(as_number(describe.at(run.scenario, "seed")) or 0)


# Measures


def _measures(settings: Sequence[Setting]) -> list[Measure]:
    """Return the costs of the highest target that a setting reached under every seed, and the accuracy at the end.

    Without an accuracy, the costs of whole runs of as many rounds; under a deadline lost updates would shorten them.
    """
    runs = [run for setting in settings for run in setting.runs.values()]
    shared = set.intersection(*({float(target["accuracy"]) for target in run.targets} for run in runs))
    for accuracy in sorted(shared, reverse=True):
        if any(all(_cost(run, accuracy, "time_s") for run in setting.runs.values()) for setting in settings):
            return [*_costs_of_target(accuracy), ACCURACY]
    if all(run.final_accuracy is not None for run in runs):
        return [ACCURACY]
    if len({run.length for run in runs}) == 1 and not any(has_deadline(run.scenario) for run in runs):
        return ALL_ROUNDS
    return []


ACCURACY = Measure("Best final accuracy", lambda run: run.final_accuracy, PERCENT, sign=-1)
ALL_ROUNDS = [
    Measure("Least time of all rounds", lambda run: run.total("time_s"), TIME),
    Measure("Least energy of all rounds", lambda run: run.total("energy_j"), ENERGY),
]


def _costs_of_target(accuracy: float) -> list[Measure]:
    goal = f"to {percent(accuracy)}"
    return [
        Measure(f"Least time {goal}", lambda run: _cost(run, accuracy, "time_s"), TIME),
        Measure(f"Least energy {goal}", lambda run: _cost(run, accuracy, "energy_j"), ENERGY),
    ]


def _cost(run: Run, accuracy: float, column: str) -> float | None:
    for target in run.targets:
        if float(target["accuracy"]) == accuracy and reached(target):
            return as_number(target.get(column))
    return None


def _ranking(measure: Measure, settings: Sequence[Setting]) -> Ranking | None:
    ranked = []
    for setting in settings:
        values = _values(measure, setting)
        mean = float(np.mean(list(values.values())))
        if not math.isnan(mean):
            ranked.append((measure.sign * mean, setting, values))
    if not ranked:
        return None
    ranked.sort(key=lambda each: each[0])
    _, ordered, values_of = zip(*ranked, strict=True)
    # Of all pairs: which of them are the first two is known only after all have been seen.
    pairs = [statistics.paired(other, one) for one, other in combinations(values_of, 2)]
    if not pairs:
        return Ranking(measure, ordered, values_of, None, math.nan)
    p_values = statistics.holm([pair.p for pair in pairs])
    return Ranking(measure, ordered, values_of, pairs[0], float(p_values[0]))


def _values(measure: Measure, setting: Setting) -> dict[int, float]:
    values = np.array([measure.value_of(run) for run in setting.runs.values()], np.float64)
    return dict(zip(setting.runs, values.tolist(), strict=True))


def _tile(ranking: Ranking) -> Tile:
    # A name may wrap, but stays beside its line.
    names = [Html("<span>{}</span>").format(macro("swatch", setting.look)) for setting in ranking.leaders]
    return Tile(ranking.measure.title, [_value(ranking, 0)], Html(" ").join([*names, _next(ranking)]), "target")


def _value(ranking: Ranking, place: int) -> str:
    return spread_text(np.array(list(ranking.values[place].values())), ranking.measure.units)


def _next(ranking: Ranking) -> str:
    if len(ranking.leaders) > 1:
        return ""
    if ranking.pair is None:
        return "no other got there under every seed"
    text = f"next {ranking.settings[1].look.label}: {_value(ranking, 1)}"
    if ranking.pair.n == 1:  # the page says below the tiles what that means
        return text
    if math.isnan(ranking.p):
        return f"{text}; no p: {ranking.pair.note}"
    return f"{text}; p = {digits(ranking.p, 3)}"
