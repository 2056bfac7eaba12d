"""The verdict on several runs: which setting takes least and ends best, by how much, and whether that may be chance.

Settings are compared seed by seed. The best one is known only after all have been seen, so its p-value is Holm's over
all pairs of settings.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from edgefl.core.units import ENERGY, TIME, as_number, digits, percent, points, quantity, score
from edgefl.results import statistics
from edgefl.results.reader import FINISHED_STATUS
from edgefl.results.report.comparison.headline import Tile
from edgefl.results.report.comparison.pooled_seeds import PooledRuns
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run, reached
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.templates import Html, macro, render
from edgefl.results.report.why.sentences import listed
from edgefl.results.scenario_tree import has_deadline
from edgefl.results.statistics import FEWEST_FOR_INTERVAL, Paired

LEVEL = 1 - statistics.CONFIDENCE
SAME_RELATIVE = 1e-9  # of the larger: means that are closer are a draw


class Measure(NamedTuple):
    """A number in which settings are compared."""

    title: str  # of its tile
    claim: str  # of the best setting
    value_of: Callable[[Run], float | None]
    text: Callable[[float], str]
    lead: Callable[[float, float], str]  # of the best mean over another one, in words
    sign: int = 1  # -1 if more is better


class Setting(NamedTuple):
    """Runs that differ only in their seed."""

    look: StyledRun
    runs: Mapping[int, Run]  # by seed


class Ranking(NamedTuple):
    """The settings that have a value under every seed, the best first."""

    measure: Measure
    settings: Sequence[Setting]
    means: Sequence[float]
    others: Sequence[Setting]  # without a value under some seed
    pair: Paired  # the first two, seed by seed
    p: float  # of that pair, adjusted; NaN if undefined
    pairs: int

    @property
    def leaders(self) -> Sequence[Setting]:
        """The settings that share the first place."""
        size = max(map(abs, self.means))
        near = [abs(mean - self.means[0]) <= SAME_RELATIVE * size for mean in self.means]
        return [setting for setting, is_near in zip(self.settings, near, strict=True) if is_near]


def section(runs: Sequence[StyledRun], groups: Sequence[PooledRuns]) -> Html:
    """Return tiles with the best settings, and the verdict in sentences; an empty text if nothing can be compared.

    Args:
        runs: of the page.
        groups: the same runs, pooled by seed; none if each is a setting of its own.
    """
    found = rankings(_settings(runs, groups))
    if not found:
        return Html()
    sentences = []
    before: Sequence[StyledRun] = ()
    for ranking in found:
        sentences.append(_sentence(ranking, before))
        before = [setting.look for setting in ranking.leaders]
    led = [ranking for ranking in found if len(ranking.settings) > 1 and len(ranking.leaders) == 1]
    if led and min(ranking.pair.n for ranking in led) == 1:
        sentences[0] = f"With one seed each, {sentences[0]}"  # before a number is read as a claim
    return render(
        "comparison/verdict.html.j2",
        rows=[[_tile(ranking) for ranking in found]],
        first=sentences[0],
        rest=sentences[1:],
        certainty=_certainty(led),
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
        return _costs_of_runs()
    return []


def _less(best: float, other: float) -> str:
    if not other:
        return ""
    return f"{digits(100 * (1 - best / other), 0)} % less"


ACCURACY = Measure(
    "Best final accuracy",
    "ends with the highest accuracy",
    lambda run: run.final_accuracy,
    score,
    lambda best, other: f"{points(100 * (best - other)).removeprefix('+')} percentage points above",
    sign=-1,
)


def _costs_of_target(accuracy: float) -> list[Measure]:
    goal = f"to {percent(accuracy)}"
    return [
        Measure(
            f"Least time {goal}",
            f"takes the least time {goal}",
            lambda run: _cost(run, accuracy, "time_s"),
            lambda value: quantity(value, TIME),
            _less,
        ),
        Measure(
            f"Least energy {goal}",
            f"takes the least energy {goal}",
            lambda run: _cost(run, accuracy, "energy_j"),
            lambda value: quantity(value, ENERGY),
            _less,
        ),
    ]


def _costs_of_runs() -> list[Measure]:
    return [
        Measure(
            "Least time of all rounds",
            "takes the least time for all rounds",
            lambda run: run.total("time_s"),
            lambda value: quantity(value, TIME),
            _less,
        ),
        Measure(
            "Least energy of all rounds",
            "takes the least energy for all rounds",
            lambda run: run.total("energy_j"),
            lambda value: quantity(value, ENERGY),
            _less,
        ),
    ]


def _cost(run: Run, accuracy: float, column: str) -> float | None:
    """Return what a target took; None if it was not reached."""
    for target in run.targets:
        if float(target["accuracy"]) == accuracy and reached(target):
            return as_number(target.get(column))
    return None


def _ranking(measure: Measure, settings: Sequence[Setting]) -> Ranking | None:
    """Return the settings in the order of a measure; None if none of them has a value under every seed."""
    values = [_values(measure, setting) for setting in settings]
    means = [float(np.mean(list(of_setting.values()))) for of_setting in values]
    ranked = [place for place, mean in enumerate(means) if not math.isnan(mean)]
    if not ranked:
        return None
    ranked.sort(key=lambda place: measure.sign * means[place])
    tests = list(combinations(sorted(ranked), 2))
    p_values = statistics.holm([statistics.paired(values[one], values[other]).p for one, other in tests])
    pair = Paired(0, math.nan, math.nan, math.nan)
    p = math.nan
    if len(ranked) > 1:
        first, second = ranked[:2]
        pair = statistics.paired(values[second], values[first])
        p = float(p_values[tests.index((min(first, second), max(first, second)))])
    others = [setting for place, setting in enumerate(settings) if place not in ranked]
    return Ranking(
        measure, [settings[place] for place in ranked], [means[place] for place in ranked], others, pair, p, len(tests)
    )


def _values(measure: Measure, setting: Setting) -> dict[int, float]:
    """Return the value of each seed; NaN for a run that has none."""
    found = {seed: measure.value_of(run) for seed, run in setting.runs.items()}
    return {seed: math.nan if value is None else value for seed, value in found.items()}


# Words


def _tile(ranking: Ranking) -> Tile:
    leaders = ranking.leaders
    # A name may wrap, but stays beside its line.
    note = Html(" ").join(Html("<span>{}</span>").format(macro("swatch", setting.look)) for setting in leaders)
    return Tile(ranking.measure.title, [ranking.measure.text(ranking.means[0])], note, "target")


def _sentence(ranking: Ranking, before: Sequence[StyledRun]) -> str:
    """Return which setting is best by a measure, and by how much; `before` are the best ones of the last sentence."""
    measure = ranking.measure
    best = measure.text(ranking.means[0])
    looks = [setting.look for setting in ranking.leaders]
    leaders = len(looks)
    name = listed([look.label for look in looks])
    if looks == before:
        name = "It also" if leaders == 1 else "They also"
    if len(ranking.settings) == 1:
        return f"{name} {measure.claim}: {best}; no other setting got there under every seed."
    if leaders == len(ranking.settings) and not ranking.others:
        return f"No setting {measure.claim}: all have {best}."
    if leaders > 1:
        return f"{name} share first place: each {measure.claim}, {best}."
    lead = measure.lead(ranking.means[0], ranking.means[1])
    text = f"{name} {measure.claim}: {best}, {lead} than {ranking.settings[1].look.label}"
    if measure.sign < 0:
        text = f"{name} {measure.claim}: {best}, {lead} {ranking.settings[1].look.label}"
    text += f" ({measure.text(ranking.means[1])})"
    if ranking.others:
        text += f"; {_count(len(ranking.others))} did not get there under every seed"
    return f"{text}."


def _count(settings: int) -> str:
    return "1 setting" if settings == 1 else f"{settings} settings"


def _certainty(led: Sequence[Ranking]) -> str:
    """Return whether the leads may be chance, in one sentence for all measures with a single leader."""
    if not led:
        return ""
    seeds = min(ranking.pair.n for ranking in led)
    if seeds == 0:
        return "The settings have no seed in common, so this may be the difference between seeds."
    if seeds == 1:
        return f"All of this may be chance: run at least {FEWEST_FOR_INTERVAL} seeds of each setting."
    test = "paired t-test"
    pairs = max(ranking.pairs for ranking in led)
    if pairs > 1:
        test += f", Holm over {pairs} pairs"
    return f"Over {seeds} common seeds ({test}), {'; '.join(map(_tested, led))}."


def _tested(ranking: Ranking) -> str:
    name = ranking.measure.title.partition(" to ")[0].lower()
    if math.isnan(ranking.p):
        return f"the {name} has no p: {ranking.pair.note}"
    verdict = "is more than chance" if ranking.p < LEVEL else "may be chance"
    return f"the {name} {verdict}, p = {digits(ranking.p, 3)}"
