"""The answer in words: how a key changes the time and energy of a goal, and which point is best."""

from collections.abc import Mapping, Sequence

import numpy as np

from edgefl.core.units import percent, quantity, score
from edgefl.results.participation import LOSS_CAUSES, MOST_LOST
from edgefl.results.report.shared.error_bars import ENDS
from edgefl.results.report.sweep.effects import effect_between, effect_sentence
from edgefl.results.report.sweep.estimates import EstimateColumn, updates_are_lost
from edgefl.results.report.sweep.measures import (
    RECEIVED,
    WASTED,
    Goal,
    difference_text,
    estimate_text,
    measure_title,
    p_text,
)
from edgefl.results.report.sweep.study import Study
from edgefl.results.report.why.sentences import listed
from edgefl.results.statistics import half_interval
from edgefl.world.error_draws import COVERAGE


def answer(study: Study, columns: Mapping[str, EstimateColumn], goal: Goal, number: int) -> list[str]:
    """Return sentences on one goal: the effect of a key, given by its number, then the best point.

    Of a key with numbers it is the effect of the highest value against the lowest, at all settings of the other keys.
    """
    costs = [columns[goal.time], columns[goal.energy]]
    measures = list(costs)
    sentences = []
    if not goal.target and study.has_deadline:
        sentences.append("Rounds end at a deadline, so that the time of the whole run says little.")
        costs.pop(0)
        measures.pop(0)
    if not goal.target and updates_are_lost(columns):
        measures.insert(0, columns[RECEIVED])
    key = study.keys[number]
    if key.has_range:
        for column in measures:
            effect = effect_between(study, column.measure, number, len(key.texts) - 1)
            sentences.append(effect_sentence(effect, measure_title(column.measure, goal)))
    if not key.has_range or len(study.keys) > 1:
        for column in costs:
            if column.best is not None:
                sentences.append(_best_sentence(study, column, column.best, goal))
                sentences += _bar_sentences(study, column, column.best)
    return sentences


def _bar_sentences(study: Study, column: EstimateColumn, point: int) -> list[str]:
    """Return the error bar of a setting's mean, of errors of laws and of seeds; no sentence without any."""
    name = column.measure.name
    total = next(total for total in ENDS if name.endswith(total))
    rows = study.finished_rows[point]
    ends = [
        study.numbers.get(f"{name.removesuffix(total)}{end}", np.full(len(study.numbers[name]), np.nan))
        for end in ENDS[total]
    ]
    values = study.numbers[name][rows]
    low, high = (float(np.mean(end[rows])) for end in ends)
    mean = float(np.mean(values))
    if not np.isfinite([low, high, mean]).all():
        return []
    of_seeds = 0.0
    if len(values) > 1:
        of_seeds = half_interval(float(np.std(values, ddof=1)), len(values), COVERAGE)
    # Errors of laws and chance are independent.
    least = quantity(mean - np.hypot(mean - low, of_seeds), column.measure.units)
    most = quantity(mean + np.hypot(high - mean, of_seeds), column.measure.units)
    runs = f"{len(values)} seed{'s' * (len(values) != 1)}"
    bar = f"{least} to {most} ({percent(COVERAGE)})"
    return [f"Its error bar, by the errors of laws on held-out numbers and by {runs}, is {bar}."]


def reached_sentence(study: Study, columns: Mapping[str, EstimateColumn], goals: Sequence[Goal]) -> str:
    """Return how many finished runs reached each target; an empty text without targets."""
    texts = []
    for goal in goals:
        estimates = columns[goal.time].estimates
        runs = sum(estimate.n for estimate in estimates)
        reached = sum(estimate.reached for estimate in estimates)
        if goal.target and runs:
            texts.append(f"{_of(reached, runs)} reached {goal.target}")
    if not texts:
        return ""
    text = listed(texts)
    missed = f" {study.missed}." if study.missed else ""
    return f"{text[0].upper()}{text[1:]}.{missed}"


def _of(count: int, total: int) -> str:
    if count == 0:
        return "none"
    if count == total:
        return f"all {total:,} runs"
    return f"{count:,} of {total:,} runs"


def lost_updates_sentence(study: Study, columns: Mapping[str, EstimateColumn]) -> str:
    """Return where most updates were lost, and what they cost; an empty text where none of them was."""
    if not updates_are_lost(columns):
        return ""
    shares = {point: estimate.mean for point, estimate in enumerate(columns[RECEIVED].estimates) if estimate.n}
    lossy = sum(share < 1 - MOST_LOST for share in shares.values())
    text = f"Fewer than {percent(1 - MOST_LOST)} of the updates arrive at {lossy:,} of {len(study.points):,} points"
    worst = min(shares, key=shares.__getitem__)
    if study.keys:
        text += f", fewest with {study.point_text(worst)}"
    return f"{text}: {_received_text(study, worst)}{_wasted_text(study, worst)}."


def _received_text(study: Study, point: int) -> str:
    """Return how many updates of a point's runs arrived: ``4 of 364 updates``."""
    rows = study.finished_rows[point]
    names = ("received", *LOSS_CAUSES)
    if any(name not in study.numbers for name in names):
        return f"{score(np.mean(study.numbers[RECEIVED][rows]))} of the updates"
    counts = [float(np.nansum(study.numbers[name][rows])) for name in names]
    return f"{counts[0]:,.0f} of {sum(counts):,.0f} updates"


def _wasted_text(study: Study, point: int) -> str:
    rows = study.finished_rows[point]
    energy_j = study.numbers["energy_j"][rows].sum()
    if WASTED not in study.numbers or not energy_j:
        return ""
    return f", and {percent(study.numbers[WASTED][rows].sum() / energy_j)} of the energy there went into the others"


def _best_sentence(study: Study, column: EstimateColumn, best: int, goal: Goal) -> str:
    measure = column.measure
    estimates = column.estimates
    value = estimate_text(estimates[best], measure)
    text = f"The lowest {measure_title(measure, goal)} is {value}, with {study.point_text(best)}"
    # Means are compared with means, medians with medians.
    complete = [estimate.reached == estimate.n for estimate in estimates]
    others = {
        point: estimate.central
        for point, estimate in enumerate(estimates)
        if point != best and complete[point] == complete[best] and np.isfinite(estimate.central)
    }
    if not others:
        return f"{text}."
    second = min(others, key=others.__getitem__)
    paired = column.against[second]
    text += f"; next is {study.point_text(second)}"
    if paired.mean == 0:
        text += ", with the same value"
    elif np.isfinite(paired.mean):
        text += f", {difference_text(paired, measure)}"
    if np.isfinite(column.p[second]):
        text += f" ({p_text(column.p[second])})"
    return f"{text}."
