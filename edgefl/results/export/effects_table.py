"""The table "one key changed, all else equal": for terminals, papers and other programs."""

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.units import NO_NUMBER, as_number, digits
from edgefl.results.csv_format import spreadsheet_bytes
from edgefl.results.export.dialects import Cell, TextColumn, latex, markdown
from edgefl.results.report.comparison.formats import LINE_WIDTH, aligned
from edgefl.results.report.sweep.answer import lost_updates_sentence
from edgefl.results.report.sweep.effects import KeyEffect, effect_sentence, effects, pairs_text, ratio_text
from edgefl.results.report.sweep.estimates import chosen_goal, chosen_measures, estimate_columns
from edgefl.results.report.sweep.measures import difference_text, measure_title
from edgefl.results.report.sweep.selection import (
    StudyChoice,
    baseline_levels,
    chosen_study,
    facet_keys,
    setting_text,
    settings_of,
)
from edgefl.results.report.sweep.study import Study
from edgefl.results.report.sweep.why import NOTE as WHY_NOTE
from edgefl.results.report.sweep.why import why

DEFAULT_MEASURES = ("time", "energy", "accuracy", "received", "wasted")
NOTE = (
    "One key changed, all else equal: each value against the baseline value of its key, in pairs of runs with the same "
    "seed and the same other keys. Ratio: geometric mean over pairs, with its 95 % confidence interval. p: "
    "t-test of the logarithms, or of the differences where there is no ratio, corrected for all tests on the measure "
    "(Holm). Pairs of one seed are not independent: intervals and tests are over the means of each seed. k of n pairs: "
    "in the other pairs a run missed the target."
)


class EffectGroup(NamedTuple):
    """The effects on a measure at one setting of the facets."""

    title: str  # of the measure, with its goal
    setting: str  # empty without facets
    effects: Sequence[KeyEffect]


class EffectTable(NamedTuple):
    """Where updates were lost, in a sentence if many were, the effects, and why methods differ from the baseline."""

    opening: str
    groups: Sequence[EffectGroup]
    why: Sequence[str] = ()  # methods take more or less than the baseline


def effect_table(study: Study, choice: StudyChoice) -> EffectTable:
    """Return the effects that a user chooses: for each measure, at each setting of the facets.

    Raises:
        InputError: the study has no such key, value, target or measure, or varies no key.
    """
    chosen = chosen_study(study, choice)
    columns = estimate_columns(chosen)
    goal = chosen_goal(chosen, columns, choice.target)
    measures = chosen_measures(columns, goal, choice.measure, DEFAULT_MEASURES)
    levels = baseline_levels(chosen, choice.baseline)
    facets = facet_keys(chosen, choice)
    every_point = range(len(chosen.points))
    groups = []
    for measure in measures:
        for setting in settings_of(chosen, facets, every_point):
            points = [point for point in every_point if settings_of(chosen, facets, [point]) == [setting]]
            found = effects(chosen, measure, levels, points)
            groups.append(EffectGroup(measure_title(measure, goal), setting_text(chosen, facets, setting), found))
    if not any(group.effects for group in groups):
        raise InputError(f"{study.folder}: no two points differ in one key only, so there is nothing to compare")
    baseline = levels[chosen.method or 0]
    opening = " ".join(filter(None, [chosen.missed and f"{chosen.missed}.", lost_updates_sentence(chosen, columns)]))
    return EffectTable(opening, groups, why(chosen, [baseline])[baseline])


def formatted(table: EffectTable, form: str) -> str:
    """Return the table in one of the `EFFECT_FORMATS`."""
    return EFFECT_FORMATS[form](table)


def effect_rows(table: EffectTable) -> list[dict[str, Any]]:
    """Return a row of numbers for each effect; None for an unknown number."""
    rows = []
    for group in table.groups:
        for effect in group.effects:
            matched = effect.matched
            difference = matched.difference
            row: dict[str, Any] = {}
            if group.setting:
                row["at"] = group.setting
            row |= {
                "measure": effect.measure.name,
                "key": effect.key.path,
                "value": effect.key.texts[effect.level],
                "baseline": effect.key.texts[effect.baseline],
                "pairs": matched.n,
                "known": matched.known,
                "seeds": difference.n,
                "reached": effect.reached,
                "baseline_reached": effect.baseline_reached,
                "difference": as_number(difference.mean),
                "difference_ci95": as_number(difference.half),
                "ratio": as_number(matched.ratio),
                "ratio_low": as_number(matched.ratio_low),
                "ratio_high": as_number(matched.ratio_high),
                "p": as_number(matched.p),
                "p_holm": as_number(effect.p),
            }
            rows.append(row)
    return rows


def _columns(effects_of_group: Sequence[KeyEffect]) -> list[TextColumn]:
    """Return the table of one measure: a row for each value of each key."""
    heads = ("key", "value", "against", "ratio", "difference", "pairs", "seeds", "p")
    rows = []
    for effect in effects_of_group:
        texts = effect.key.texts
        rows.append(
            [
                Cell(effect.key.title),
                Cell(texts[effect.level]),
                Cell(texts[effect.baseline]),
                Cell(ratio_text(effect.matched) or NO_NUMBER, best=effect.is_significant),
                Cell(difference_text(effect.matched.difference, effect.measure)),
                Cell(pairs_text(effect)),
                Cell(f"{effect.matched.difference.n:,}"),
                Cell(_p_cell(effect.p)),
            ]
        )
    return [TextColumn("", head, [row[number] for row in rows], left=number < 3) for number, head in enumerate(heads)]


def _p_cell(p: float) -> str:
    if math.isnan(p):
        return NO_NUMBER
    if p < 0.001:
        return "< 0.001"
    return digits(p)


def _title(group: EffectGroup) -> str:
    title = f"{group.title[:1].upper()}{group.title[1:]}: one key changed, all else equal"
    if group.setting:
        return f"{title}, at {group.setting}"
    return title


def _sentences(group: EffectGroup) -> list[str]:
    return [effect_sentence(effect, group.title) for effect in group.effects]


def _table(table: EffectTable) -> str:
    """Return a table for each measure; only the first has sentences, which repeat its numbers to be quoted."""
    parts = []
    if table.opening:
        parts.append(_wrapped(table.opening))
    first = table.groups[0].title
    for group in table.groups:
        columns = _columns(group.effects)
        cells = [[column.name for column in columns]]
        cells += [[column.cells[row].text for column in columns] for row in range(len(group.effects))]
        lines = [_title(group), aligned(cells, left=3)]
        if group.title == first:
            lines += ["", *map(_wrapped, _sentences(group))]
        parts.append("\n".join(lines))
    if table.why:
        parts.append("\n".join(["Why", *map(_wrapped, (*table.why, WHY_NOTE))]))
    return "\n\n".join([*parts, _wrapped(NOTE)]) + "\n"


def _wrapped(sentence: str) -> str:
    return textwrap.fill(sentence, LINE_WIDTH)


def _markdown(table: EffectTable) -> str:
    parts = []
    if table.opening:
        parts.append(f"{table.opening}\n")
    for group in table.groups:
        lines = [f"**{_title(group)}**", "", markdown(_columns(group.effects), note="")]
        lines += [f"- {sentence}" for sentence in _sentences(group)]
        parts.append("\n".join(lines))
    if table.why:
        parts.append("\n".join(["**Why**", "", *(f"- {sentence}" for sentence in (*table.why, WHY_NOTE))]))
    return "\n\n".join([*parts, NOTE]) + "\n"


def _latex(table: EffectTable) -> str:
    parts = [f"% {sentence}" for sentence in (table.opening, *table.why) if sentence]
    for group in table.groups:
        note = f"{_title(group)}. {NOTE} Bold: p < 0.05."
        comments = "".join(f"% {sentence}\n" for sentence in _sentences(group))
        parts.append(comments + latex(_columns(group.effects), note))
    return "\n".join(parts)


def _csv(table: EffectTable) -> str:
    rows = effect_rows(table)
    return spreadsheet_bytes({name: [row[name] for row in rows] for name in rows[0]}).decode()


def _json(table: EffectTable) -> str:
    return json.dumps(effect_rows(table), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


EFFECT_FORMATS: dict[str, Callable[[EffectTable], str]] = {
    "table": _table,
    "markdown": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}
