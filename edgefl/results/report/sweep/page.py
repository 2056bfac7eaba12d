"""The page of a sweep: numbers and tables put into the template; the script draws them."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.units import fitting, short, top, with_unit
from edgefl.results.reader import FINISHED_STATUS
from edgefl.results.report.shared import templates
from edgefl.results.report.shared.label_heatmap import SAMPLES_SCALE
from edgefl.results.report.shared.style import DASHES, RUN_COLOURS, Figure, spans_decades
from edgefl.results.report.shared.tables import counted
from edgefl.results.report.shared.templates import Html
from edgefl.results.report.shared.views import AXES
from edgefl.results.report.sweep.answer import answer, lost_updates_sentence, reached_sentence
from edgefl.results.report.sweep.curves import SweepCurves
from edgefl.results.report.sweep.effects_card import baselines_of, effects_tables
from edgefl.results.report.sweep.estimates import (
    EstimateColumn,
    first_goal,
    more_columns,
    runs_shown,
    updates_are_lost,
)
from edgefl.results.report.sweep.measures import (
    FINAL_ACCURACY,
    RECEIVED,
    WASTED,
    WHOLE_RUN,
    Goal,
    estimate_text,
    goals,
)
from edgefl.results.report.sweep.selection import NO_CHOICE, layout_of
from edgefl.results.report.sweep.study import Study, SweptKey
from edgefl.results.report.sweep.tables import failed_runs, points_table
from edgefl.results.report.sweep.why import NOTE as WHY_NOTE
from edgefl.results.report.sweep.why import why
from edgefl.results.statistics import FEWEST_FOR_INTERVAL

ACCURACY_SIZE = 0.01  # charts show accuracies in percent
MOST_FAILED_SHOWN = 100


class Answer(NamedTuple):
    """The sentences on a goal and a key, given by their numbers."""

    goal: int
    key: int
    sentences: Sequence[str]


def render(
    study: Study, columns: Mapping[str, EstimateColumn], curves: SweepCurves | None, run_pages: Mapping[int, str]
) -> Html:
    """Return the complete page.

    ``run_pages`` has the addresses of the pages of runs, by their rows in the index.
    """
    every_goal = goals(study)
    failed = failed_runs(study)
    return templates.render(
        "sweep/page.html.j2",
        title=study.name,
        subtitle=_subtitle(study),
        unfinished=_unfinished(study),
        more=more_columns(columns),
        goals={number: goal.title for number, goal in enumerate(every_goal)},
        first_goal=first_goal(columns, every_goal),
        keys=study.keys,
        first_axis=layout_of(study, NO_CHOICE).over or 0,
        first_lines=next(iter(layout_of(study, NO_CHOICE).lines), 0),
        reached=reached_sentence(study, columns, every_goal),
        lost_updates=lost_updates_sentence(study, columns),
        answers=_answers(study, columns, every_goal),
        baselines=baselines_of(study),
        effects=effects_tables(study, columns, every_goal),
        why=why(study, range(len(baselines_of(study)))),
        why_note=WHY_NOTE,
        spread=_spread_text(study),
        axes=AXES,
        learning_note=_learning_note(study, curves) if curves else "",
        has_accuracy=study.has_accuracy,
        points=points_table(study, columns, every_goal, run_pages),
        failed=failed[:MOST_FAILED_SHOWN],
        failed_more=max(0, len(failed) - MOST_FAILED_SHOWN),
        styles=["sweep/sweep.css"],
        script_names=["sweep/sweep.js"],
        data=_data(study, columns, every_goal, curves),
    )


# The head of the page


def _subtitle(study: Study) -> str:
    seeds = len(np.unique(study.numbers["seed"]))
    parts = [f"{counted(len(study.points), 'point')}, {counted(seeds, 'seed')}"]
    parts += [_range_text(key) for key in study.keys]
    if not study.has_accuracy:
        parts.append("without test accuracy")
    return " · ".join(parts)


def _range_text(key: SweptKey) -> str:
    if len(key.texts) == 1:
        return f"{key.title} {key.texts[0]}"
    if key.numbers is not None:
        return f"{key.title} {key.texts[0]} to {key.texts[-1]}"
    return f"{key.title}: {counted(len(key.texts), 'value')}"


def _unfinished(study: Study) -> str:
    status = study.texts["status"]
    counts = Counter(status)
    finished = counts.pop(FINISHED_STATUS, 0)
    if not counts:
        return ""
    others = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    runs = counted(len(status), "run")
    return f"{finished:,} of {runs} have finished ({others}). This page covers the finished runs only."


def _answers(study: Study, columns: Mapping[str, EstimateColumn], every_goal: Sequence[Goal]) -> list[Answer]:
    numbers = itertools.product(range(len(every_goal)), range(len(study.keys)))
    return [Answer(goal, key, answer(study, columns, every_goal[goal], key)) for goal, key in numbers]


def _learning_note(study: Study, curves: SweepCurves) -> str:
    note = f"Curves are means over seeds. {_spread_text(study)} A curve ends with the first seed that ends."
    points = sum(bool(rows) for rows in study.finished_rows)
    if curves.points < points:
        note += f" The page has the curves of {curves.points:,} of {points:,} points, evenly chosen."
    most_seeds = max(len(rows) for rows in study.finished_rows)
    if curves.seeds < most_seeds:
        note += f" They are over the first {curves.seeds:,} seeds of each point."
    return note


def _spread_text(study: Study) -> str:
    counts = {len(rows) for rows in study.finished_rows if rows}
    sentences = []
    if max(counts, default=0) >= FEWEST_FOR_INTERVAL:
        sentences.append("Bands and bars show the 95 % confidence interval of the mean over seeds.")
    if counts & set(range(2, FEWEST_FOR_INTERVAL)):
        few = f"fewer than {FEWEST_FOR_INTERVAL} seeds"
        sentences.append(
            f"For points with {few}, small dots and thin lines show each seed: an interval would not be useful."
        )
    return " ".join(sentences)


# Data for the script


def _data(
    study: Study, columns: Mapping[str, EstimateColumn], every_goal: Sequence[Goal], curves: SweepCurves | None
) -> dict[str, Any]:
    shown = {goal.time for goal in every_goal} | {goal.energy for goal in every_goal}
    if FINAL_ACCURACY in columns:
        shown.add(FINAL_ACCURACY)
    if updates_are_lost(columns):
        shown |= {name for name in (RECEIVED, WASTED) if name in columns}
    more = more_columns(columns)
    shown |= {*more}
    return {
        "colours": RUN_COLOURS,
        "dashes": DASHES,
        "scale": SAMPLES_SCALE,
        "keys": [_key_data(key) for key in study.keys],
        "points": [point.value_indices for point in study.points],
        "goals": [
            {"title": goal.title, "target": goal.target, "time": goal.time, "energy": goal.energy}
            for goal in every_goal
        ],
        "measures": {name: _measure_data(study, columns[name]) for name in sorted(shown)},
        "more": more,
        "deadline": study.has_deadline,
        "curves": curves.figure if curves else None,
    }


def _key_data(key: SweptKey) -> Figure:
    """Return the axis of a key; a key with a single value is drawn as a category."""
    data: Figure = {
        "title": key.title,
        "axis": with_unit(key.title, key.unit),
        "texts": key.texts,
        "named": key.named_texts,
        "numbers": None,
        "log": False,
    }
    if key.numbers is not None and len(key.numbers) > 1:
        numbers = np.array(key.numbers)
        data["numbers"] = short(numbers, 9)
        data["log"] = spans_decades(numbers)
    return data


def _measure_data(study: Study, column: EstimateColumn) -> Figure:
    """Return a measure of all points in one unit: mean with half of its interval, else median, else lower bound.

    Points of few runs have the values of these instead of an interval.
    """
    measure = column.measure
    estimates = column.estimates
    central = np.array([estimate.central for estimate in estimates])
    is_few = [estimate.n < FEWEST_FOR_INTERVAL for estimate in estimates]
    half = np.where(is_few, np.nan, [estimate.half for estimate in estimates])
    std = np.where(is_few, np.nan, [estimate.std for estimate in estimates])
    above = np.array([estimate.above for estimate in estimates])
    # One unit for all points: a chart has one axis.
    unit = fitting(top([central, above]), measure.units)
    size = unit.size
    title = measure.title
    if measure.name in WHOLE_RUN:
        title = f"{title} of {study.span}"
    known = central[np.isfinite(central)]
    return {
        "title": f"{title} [{unit.name}]",
        "share": measure.is_share,
        "y": short(central / size),
        "half": short(half / size, 3),
        "sd": short(std / size, 3),
        "above": short(above / size),
        "runs": [short(runs_shown(study, column, point) / size) for point in range(len(estimates))],
        "mean": [estimate.reached == estimate.n for estimate in estimates],
        "text": [estimate_text(estimate, measure) for estimate in estimates],
        "log": bool(known.size and not measure.is_share and spans_decades(known)),
    }
