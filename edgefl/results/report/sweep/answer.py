"""The answer in words: how a key changes the time and energy of a goal, and which point is best."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.units import digits, percent, score
from edgefl.results import statistics
from edgefl.results.participation import MOST_LOST
from edgefl.results.report.sweep.estimates import (
    SIGNIFICANCE_LEVEL,
    EstimateColumn,
    updates_are_lost,
    values_by_seed,
)
from edgefl.results.report.sweep.measures import (
    LOSS_TITLES,
    RECEIVED,
    WASTED,
    Goal,
    difference_text,
    estimate_text,
    measure_title,
    p_text,
    sign,
)
from edgefl.results.report.sweep.study import Study, SweptKey
from edgefl.results.statistics import Paired

MOST_SENTENCES = 3  # settings of the other keys, or points, that are named one by one; of more there is a summary
MOST_OF_SAVING = 0.8  # the share from which on a value is said to give most of what the whole range saves

Line = Sequence[int]  # points that differ in one key only, in the order of its values


class Effect(NamedTuple):
    """The change of a measure from one point to another, in pairs of runs under the same seed."""

    column: EstimateColumn
    start: int
    end: int
    paired: Paired

    @property
    def relative_change(self) -> float:
        """Return the change as a share of the start; NaN if one of the two is unknown or the start is zero."""
        start = self.column.estimates[self.start].central
        end = self.column.estimates[self.end].central
        if not start:
            return math.nan
        return end / start - 1


def answer(study: Study, columns: Mapping[str, EstimateColumn], goal: Goal, number: int) -> list[str]:
    """Return sentences on one goal: the effect of a key, given by its number, then the best point and what was missed.

    A key without an order has no effect from low to high: then only the best point is named.
    """
    time = columns[goal.time]
    costs = _costs(study, columns, goal)
    measures = list(costs)
    sentences = []
    if not goal.target and updates_are_lost(columns):
        measures.insert(0, columns[RECEIVED])
    if time not in costs:
        sentences.append("Rounds end at a deadline, so that the time of the whole run says little.")
    key = study.keys[number]
    lines = _lines_with_runs(study, time, number)
    if key.numbers is not None and lines:
        # Many settings are summarised by their range and median.
        if len(lines) <= MOST_SENTENCES:
            sentences += [_line_sentence(study, measures, goal, number, line, len(lines)) for line in lines]
        else:
            sentences.append(_summary_of_lines(study, costs, goal, key, lines))
    if key.numbers is None or len(study.keys) > 1:
        sentences += [_best_sentence(study, column, goal) for column in costs]
    sentences.append(_missed_sentence(study, time, goal))
    return [sentence for sentence in sentences if sentence]


def _costs(study: Study, columns: Mapping[str, EstimateColumn], goal: Goal) -> list[EstimateColumn]:
    """Return time and energy of a goal; under a deadline only the energy of the whole run."""
    energy = columns[goal.energy]
    if study.has_deadline and not goal.target:
        return [energy]
    return [columns[goal.time], energy]


def lost_updates_sentence(study: Study, columns: Mapping[str, EstimateColumn]) -> str:
    """Return where many updates were lost, and how many arrived there; an empty text where none of them was."""
    if not updates_are_lost(columns):
        return ""
    shares = {point: estimate.mean for point, estimate in enumerate(columns[RECEIVED].estimates) if estimate.n}
    lossy = sorted((point for point, share in shares.items() if share < 1 - MOST_LOST), key=shares.__getitem__)
    places = [f"{_received_text(study, point)} arrive{_at(study, point)}" for point in lossy]
    if len(lossy) <= MOST_SENTENCES:
        wasted = _wasted_text(study, lossy[0]) if len(lossy) == 1 else ""
        return f"{'; '.join(places)}{wasted}."
    fewest = f"fewest{_at(study, lossy[0])}: {_received_text(study, lossy[0])}{_wasted_text(study, lossy[0])}"
    most = max(shares, key=shares.__getitem__)
    share = percent(1 - MOST_LOST)
    opening = f"Fewer than {share} of the updates arrive at {len(lossy):,} of {len(study.points):,} points"
    return f"{opening}; {fewest}; most{_at(study, most)}: {_received_text(study, most)}."


def _at(study: Study, point: int) -> str:
    text = study.point_text(point)
    return f" at {text}" if text else ""


def _received_text(study: Study, point: int) -> str:
    """Return how many updates of a point's runs arrived: ``4 of 364 updates``."""
    rows = study.finished_rows[point]
    names = ("received", *LOSS_TITLES)
    if any(name not in study.numbers for name in names):
        return f"{score(np.mean(study.numbers[RECEIVED][rows]))} of the updates"
    counts = [float(np.nansum(study.numbers[name][rows])) for name in names]
    return f"{counts[0]:,.0f} of {sum(counts):,.0f} updates"


def _wasted_text(study: Study, point: int) -> str:
    """Return the share of a point's energy that went into updates that were not used."""
    rows = study.finished_rows[point]
    energy_j = study.numbers["energy_j"][rows].sum()
    if WASTED not in study.numbers or not energy_j:
        return ""
    return f", and {percent(study.numbers[WASTED][rows].sum() / energy_j)} of the energy there went into the others"


def lines_along(study: Study, number: int) -> list[list[int]]:
    """Return the points that differ in one key only, given by its number, in the order of its values.

    There is a line for each setting of the other keys.
    """
    lines: dict[tuple[int, ...], list[int]] = {}
    for point, setting in enumerate(study.points):
        other_keys = (*setting.value_indices[:number], *setting.value_indices[number + 1 :])
        lines.setdefault(other_keys, []).append(point)
    return [sorted(line, key=lambda point: study.points[point].value_indices[number]) for line in lines.values()]


def _lines_with_runs(study: Study, column: EstimateColumn, number: int) -> list[list[int]]:
    """Return the lines along a key, without points of which no run has finished; a line needs two points."""
    lines = []
    for line in lines_along(study, number):
        measured = [point for point in line if column.estimates[point].n]
        if len(measured) > 1:
            lines.append(measured)
    return lines


def _value_text(study: Study, number: int, point: int) -> str:
    index = study.points[point].value_indices[number]
    return study.keys[number].texts[index]


def _effect(study: Study, column: EstimateColumn, line: Line) -> Effect:
    start = line[0]
    end = line[-1]
    # A sentence is about this one test: its p-value is not corrected for the tests of other points.
    at_start = values_by_seed(study, column.measure, start)
    at_end = values_by_seed(study, column.measure, end)
    return Effect(column, start, end, statistics.paired(at_start, at_end))


def _line_sentence(
    study: Study, costs: Sequence[EstimateColumn], goal: Goal, number: int, line: Line, line_count: int
) -> str:
    """Return how time and energy change along one line, and where most of the time is saved already."""
    title = study.keys[number].title
    low = _value_text(study, number, line[0])
    high = _value_text(study, number, line[-1])
    changes = [_change_text(_effect(study, column, line), goal) for column in costs]
    other_keys = study.point_text(line[0], without=number)
    setting = f"{title} raised from {low} to {high}"
    if other_keys:
        setting = f"{other_keys} and {setting}"
    sentence = f"With {setting}, {' and '.join(changes)}."
    if line_count == 1:
        sentence += _saving_sentence(study, costs[0], goal, number, line)
    return sentence


def _change_text(effect: Effect, goal: Goal) -> str:
    """Return such as ``the time to 90 % falls from 5 s to 2 s (−3 ± 0.1 s, −60 %; p = 0.001)``."""
    measure = effect.column.measure
    name = f"the {measure_title(measure, goal)}"
    start = estimate_text(effect.column.estimates[effect.start], measure)
    end = estimate_text(effect.column.estimates[effect.end], measure)
    start_value = effect.column.estimates[effect.start].central
    end_value = effect.column.estimates[effect.end].central
    change = effect.relative_change
    if measure.is_share:
        change = end_value - start_value
    if not math.isfinite(change):
        return f"{name} goes from {start} to {end}"
    paired = effect.paired
    if paired.mean == 0 or change == 0:  # of medians there may be no paired difference
        return f"{name} stays at {start}"
    verb = "falls" if change < 0 else "rises"
    percentage = f"{sign(change)}{digits(100 * abs(change), 1)} %"
    facts = percentage
    if measure.is_share:
        facts = difference_text(paired, measure)
    elif math.isfinite(paired.mean):
        facts = f"{difference_text(paired, measure)}, {percentage}"
    if math.isfinite(paired.p):
        facts += f"; {p_text(paired.p)}"
    if paired.p >= SIGNIFICANCE_LEVEL:
        facts += ", which may be chance"
    return f"{name} {verb} from {start} to {end} ({facts})"


def _saving_sentence(study: Study, column: EstimateColumn, goal: Goal, number: int, line: Line) -> str:
    """Return which value gives most of the time saved already; nothing where only the last value does."""
    values = np.array([column.estimates[point].central for point in line])
    falls = values[0] > values[-1]
    if column.measure.is_share or column.measure.name == goal.energy:
        return ""
    # With two points the last one gives all of the saving.
    if len(line) < 3 or not falls:
        return ""
    saved = (values[0] - values) / (values[0] - values[-1])
    enough = np.flatnonzero(saved >= MOST_OF_SAVING)
    last = len(line) - 1
    if not enough.size or enough[0] == last:
        return ""
    first = int(enough[0])
    share = digits(100 * float(saved[first]), 0)
    return f" {_value_text(study, number, line[first])} already gives {share} % of the time saved."


def _summary_of_lines(
    study: Study, costs: Sequence[EstimateColumn], goal: Goal, key: SweptKey, lines: Sequence[Line]
) -> str:
    """Return how far time and energy change along a key, over all settings of the other keys."""
    parts = []
    for column in costs:
        changes = np.array([_effect(study, column, line).relative_change for line in lines])
        # A line that ends at an unknown median has no known change.
        percentages = 100 * changes[np.isfinite(changes)]
        if not percentages.size:
            continue
        quantiles = np.quantile(percentages, (0, 0.5, 1))
        low, median, high = (f"{value:+.0f} %".replace("-", "−") for value in quantiles)
        name = measure_title(column.measure, goal)
        parts.append(f"the {name} changes by {low} to {high} (median {median}{_share_known(percentages.size, lines)})")
    if not parts:
        return ""
    opening = f"With {key.title} raised from {key.texts[0]} to {key.texts[-1]}"
    return f"{opening}, at {len(lines):,} settings of the other keys, {' and '.join(parts)}."


def _share_known(known: int, lines: Sequence[Line]) -> str:
    """Return on how many lines the change is known; an empty text where it is known on all."""
    if known == len(lines):
        return ""
    return f", known at {known:,} of them"


def _best_sentence(study: Study, column: EstimateColumn, goal: Goal) -> str:
    """Return the best point, the next best one, and whether the two can be told apart."""
    if column.best is None:
        return ""
    measure = column.measure
    complete = np.array([estimate.reached == estimate.n for estimate in column.estimates])
    opening = f"The lowest {measure_title(measure, goal)}"
    if complete[column.best] and not complete.all():
        opening = f"Where all runs reached {goal.target}, the lowest {measure_title(measure, goal)}"
    value = estimate_text(column.estimates[column.best], measure)
    sentence = f"{opening} is {value}, with {study.point_text(column.best)}."

    # Means are compared with means, medians with medians.
    centrals = np.array([estimate.central for estimate in column.estimates])
    centrals[complete != complete[column.best]] = np.nan
    centrals[column.best] = np.nan
    if not np.isfinite(centrals).any():
        return sentence
    return f"{sentence} {_next_best_sentence(study, column, int(np.nanargmin(centrals)))}"


def _next_best_sentence(study: Study, column: EstimateColumn, point: int) -> str:
    """Return the next best point with its difference from the best, as far as that is known."""
    sentence = f"Next is {study.point_text(point)}"
    paired = column.against[point]
    if paired.mean == 0:
        return f"{sentence}, with the same value."
    if math.isfinite(paired.mean):
        sentence += f" ({difference_text(paired, column.measure)})"
    p = column.p[point]
    if p >= SIGNIFICANCE_LEVEL:
        sentence += ", which may be chance"
    elif math.isfinite(p):
        sentence += ", a significant difference"
    return f"{sentence}."


def _missed_sentence(study: Study, column: EstimateColumn, goal: Goal) -> str:
    """Return at which points some runs, or all, missed the target; nothing where all reached it."""
    if not column.measure.bound:
        return ""
    missed = [point for point, estimate in enumerate(column.estimates) if estimate.reached < estimate.n]
    if not missed:
        return ""
    if len(missed) <= MOST_SENTENCES:
        facts = []
        for point in missed:
            estimate = column.estimates[point]
            facts.append(f"{estimate.reached} of {estimate.n} with {study.point_text(point)} did")
        return f"Not all runs reached {goal.target}: {'; '.join(facts)}."
    never = sum(column.estimates[point].reached == 0 for point in missed)
    sentence = f"Not all runs reached {goal.target}: at {len(missed):,} of {len(study.points):,} points some missed it"
    if never:
        sentence += f", at {never:,} of these all did"
    return f"{sentence}."
