"""The card "one key, all else equal": a table of effects for each goal and baseline, and sentences to quote."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edgefl.core.units import NO_NUMBER
from edgefl.results.report.sweep.effects import KeyEffect, effect_sentence, effects, pairs_text, ratio_text, seeds_text
from edgefl.results.report.sweep.estimates import EstimateColumn
from edgefl.results.report.sweep.measures import (
    FINAL_ACCURACY,
    RECEIVED,
    WASTED,
    Goal,
    difference_text,
    measure_title,
    p_text,
)
from edgefl.results.report.sweep.study import Study

MOST_BASELINES = 12  # that can be chosen; of more values the first is the baseline


class EffectCell(NamedTuple):
    """An effect in short: its ratio or difference, what stands below it, and whether it is significant."""

    text: str
    below: str
    significant: bool


class EffectRow(NamedTuple):
    """A value of a key against its baseline, with a cell for each measure."""

    key: str
    value: str
    against: str
    cells: Sequence[EffectCell]


class EffectsTable(NamedTuple):
    """The effects on a goal's measures with one baseline, both given by their numbers."""

    goal: int
    baseline: int
    head: Sequence[str]
    rows: Sequence[EffectRow]
    sentences: Sequence[str]


def baselines_of(study: Study) -> list[str]:
    """Return the values that can be the baseline: the methods, or else those of the first key; none without keys."""
    if not any(len(key.texts) > 1 for key in study.keys):
        return []
    texts = study.keys[study.method or 0].texts
    if len(texts) > MOST_BASELINES:
        return [texts[0]]
    return list(texts)


def effects_tables(study: Study, columns: Mapping[str, EstimateColumn], goals: Sequence[Goal]) -> list[EffectsTable]:
    """Return a table for each goal and baseline."""
    tables = []
    for number, goal in enumerate(goals):
        names = [goal.energy, FINAL_ACCURACY, RECEIVED, WASTED]
        if goal.target or not study.has_deadline:
            names.insert(0, goal.time)
        shown = [columns[name] for name in names if name in columns]
        for baseline in range(len(baselines_of(study))):
            levels = [0] * len(study.keys)
            levels[study.method or 0] = baseline
            found = [effects(study, column.measure, levels) for column in shown]
            head = [measure_title(column.measure, goal) for column in shown]
            rows = [_row(of_measures) for of_measures in zip(*found, strict=True)]
            sentences = [effect_sentence(effect, head[0]) for effect in found[0]]
            tables.append(EffectsTable(number, baseline, head, rows, sentences))
    return tables


def _row(of_measures: Sequence[KeyEffect]) -> EffectRow:
    first = of_measures[0]
    texts = first.key.texts
    cells = [_cell(effect) for effect in of_measures]
    return EffectRow(first.key.title, texts[first.level], texts[first.baseline], cells)


def _cell(effect: KeyEffect) -> EffectCell:
    matched = effect.matched
    if not matched.known:
        return EffectCell(NO_NUMBER, f"{pairs_text(effect)} pairs", significant=False)
    text = difference_text(matched.difference, effect.measure)
    if ratio := ratio_text(matched):
        text = f"× {ratio}"
    facts = [f"{pairs_text(effect)} pairs", seeds_text(effect)]
    if math.isfinite(effect.p):
        facts.append(p_text(effect.p))
    elif matched.difference.mean == 0:
        text = "the same"
    return EffectCell(text, ", ".join(facts), effect.is_significant)
