"""The answer in words: what a key buys, in time and energy to a goal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.units import digits
from edgefl.results import statistics
from edgefl.results.report.sweep.columns import SIGNIFICANT, Column, Goal, difference, told
from edgefl.results.report.sweep.study import Key, Study
from edgefl.results.statistics import Paired

FEW = 3  # settings of the other keys that have a sentence each
MOST_OF_IT = 0.8
Line = Sequence[int]  # points that differ in one key alone, by its values


class Effect(NamedTuple):
    """What the way from one point to another does to a measure."""

    column: Column
    start: int
    end: int
    paired: Paired

    @property
    def share(self) -> float:
        """The change as a part of where it starts; NaN where one end is not known."""
        start, end = (self.column.estimates[place].central for place in (self.start, self.end))
        return end / start - 1 if start else math.nan


def answer(study: Study, found: Mapping[str, Column], goal: Goal, number: int) -> list[str]:
    """What a key does to the time and the energy that the goal takes, then who is best of all: sentences."""
    both = [found[goal.time], found[goal.energy]]
    key = study.keys[number]
    known = [[place for place in line if both[0].estimates[place].n] for line in lines_of(study, number)]
    lines = [line for line in known if len(line) > 1]
    parts = []
    if key.numbers is not None and lines:
        parts += _few(study, both, goal, number, lines) if len(lines) <= FEW else [_many(study, both, goal, key, lines)]
    if key.numbers is None or len(study.keys) > 1:
        parts += [text for column in both if (text := _best(study, column, goal))]
    parts += _missed(study, both[0], goal)
    return parts


def lines_of(study: Study, number: int) -> list[list[int]]:
    """The points that share the values of all other keys, in the order of the key's values."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, point in enumerate(study.points):
        others = (*point.at[:number], *point.at[number + 1 :])
        groups.setdefault(others, []).append(place)
    return [sorted(places, key=lambda place: study.points[place].at[number]) for places in groups.values()]


def _few(study: Study, both: Sequence[Column], goal: Goal, number: int, lines: Sequence[Line]) -> list[str]:
    """A sentence or two for each setting of the other keys."""
    key, sentences = study.keys[number], []
    for line in lines:
        others = study.told(line[0], without=number)
        low, high = (key.texts[study.points[place].at[number]] for place in (line[0], line[-1]))
        changes = [_change(_effect(study, column, line), goal) for column in both]
        start = f"With {others}, from" if others else "From"
        most = _most(study, both[0], number, line) if len(lines) == 1 else ""
        sentences.append(f"{start} {low} to {high} {key.title}, {' and '.join(changes)}.{most}")
    return sentences


def _effect(study: Study, column: Column, line: Line) -> Effect:
    seeds, values = study.numbers["seed"].astype(int).tolist(), study.numbers[column.measure.name]
    start, end = ({seeds[row]: float(values[row]) for row in study.finished[line[place]]} for place in (0, -1))
    return Effect(column, line[0], line[-1], statistics.paired(start, end))


def _change(effect: Effect, goal: Goal) -> str:
    """What becomes of a measure: ``time to 90 % falls from 5 s to 2 s (−3 ± 0.1 s, −60 %; p = 0.001)``."""
    measure, name = effect.column.measure, _name(effect.column, goal)
    start, end = (told(effect.column.estimates[place], measure) for place in (effect.start, effect.end))
    share, paired = effect.share, effect.paired
    if not math.isfinite(share):
        return f"{name} goes from {start} to {end}"
    if paired.mean == 0:
        return f"{name} stays at {start}"
    facts = [difference(paired, measure)] if math.isfinite(paired.mean) else []
    facts.append(f"{'−' if share < 0 else '+'}{digits(100 * abs(share), 1)} %")
    certainty = f"; {p_value(paired.p)}" if math.isfinite(paired.p) else ""
    doubt = ", which may be chance" if paired.p >= SIGNIFICANT else ""
    return f"{name} {'falls' if share < 0 else 'rises'} from {start} to {end} ({', '.join(facts)}{certainty}{doubt})"


def _name(column: Column, goal: Goal) -> str:
    way = "time" if column.measure.name.endswith("time_s") else "energy"
    return f"{way} {goal.title}" if column.measure.bound else f"{way} of {goal.title}"


def p_value(p: float) -> str:
    """Such as ``p = 0.003``."""
    return f"p = {digits(p)}" if p >= 0.001 else "p < 0.001"


def _most(study: Study, column: Column, number: int, line: Line) -> str:
    """Where most of the time is saved already; nothing where that takes the whole way."""
    values = np.array([column.estimates[place].central for place in line])
    saved = (values[0] - values) / (values[0] - values[-1]) if values[0] > values[-1] else np.zeros(1)
    enough = np.flatnonzero(saved >= MOST_OF_IT)
    if len(line) < 3 or not enough.size or enough[0] == len(line) - 1:
        return ""
    first = int(enough[0])
    value = study.keys[number].texts[study.points[line[first]].at[number]]
    return f" {digits(100 * float(saved[first]), 0)} % of the time saved is saved by {value}."


def _many(study: Study, both: Sequence[Column], goal: Goal, key: Key, lines: Sequence[Line]) -> str:
    """How far a measure changes from the first to the last value of the key, over all settings of the others."""
    parts = []
    for column in both:
        every = np.array([_effect(study, column, line).share for line in lines])
        shares = 100 * every[np.isfinite(every)]
        if shares.size:
            low, middle, high = (f"{value:+.0f} %".replace("-", "−") for value in np.quantile(shares, (0, 0.5, 1)))
            parts.append(f"{_name(column, goal)} changes by {low} to {high}, {middle} in the median of {shares.size:,}")
    text = f"From {key.texts[0]} to {key.texts[-1]} {key.title}, with {len(lines):,} settings of the other keys: "
    return f"{text}{'; '.join(parts)}." if parts else ""


def _best(study: Study, column: Column, goal: Goal) -> str:
    """The best point, the next one, and whether they can be told apart."""
    if column.best is None:
        return ""
    measure, name = column.measure, _name(column, goal)
    always = [one.reached == one.n for one in column.estimates]
    alike = f"Where all runs got {goal.title}, least" if always[column.best] and not all(always) else "Least"
    text = f"{alike} {name}: {told(column.estimates[column.best], measure)} with {study.told(column.best)}"
    centrals = np.array([one.central for one in column.estimates])
    centrals[np.array(always) != always[column.best]] = np.nan
    centrals[column.best] = np.nan
    if not np.isfinite(centrals).any():
        return f"{text}."
    following = int(np.nanargmin(centrals))
    paired, p = column.against[following], column.p[following]
    gap = f" ({difference(paired, measure)})" if math.isfinite(paired.mean) else ""
    sure = f", {'which may be chance' if p >= SIGNIFICANT else 'significantly more'}" if math.isfinite(p) else ""
    return f"{text}; next {study.told(following)}{gap}{sure}."


def _missed(study: Study, column: Column, goal: Goal) -> list[str]:
    """Which points got to a target under some seeds alone, or under none."""
    if not column.measure.bound:
        return []
    some = [place for place, one in enumerate(column.estimates) if one.n and one.reached < one.n]
    if not some:
        return []
    if len(some) <= FEW:
        facts = [
            f"{column.estimates[place].reached} of {column.estimates[place].n} runs of {study.told(place)}"
            for place in some
        ]
        return [f"Not all got {goal.title}: {'; '.join(facts)} did."]
    never = sum(column.estimates[place].reached == 0 for place in some)
    where = f"at {len(some):,} of {len(study.points):,} points some did not, at {never:,} none did"
    return [f"Not all runs got {goal.title}: {where}."]
