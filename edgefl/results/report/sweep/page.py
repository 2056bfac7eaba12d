"""The page of a sweep: numbers and tables put into the template; the script draws them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

import numpy as np

from edgefl.core.units import fitting, short, top, with_unit
from edgefl.results.reader import FINISHED_STATUS
from edgefl.results.report.shared.label_heatmap import SAMPLES_SCALE
from edgefl.results.report.shared.resources import as_json, plotly, resource, scripts
from edgefl.results.report.shared.style import DARK, DASHES, RUN_COLOURS, Figure, prose, spans_decades, template
from edgefl.results.report.sweep.answer import answer
from edgefl.results.report.sweep.curves import SweepCurves
from edgefl.results.report.sweep.estimates import EstimateColumn, first_goal, values_by_seed
from edgefl.results.report.sweep.measures import WHOLE_RUN, Goal, goals
from edgefl.results.report.sweep.study import FAILED_STATUS, Study, SweptKey
from edgefl.results.report.sweep.tables import POINTS_LEGEND, failed_section, points_table
from edgefl.results.report.sweep.texts import estimate_text
from edgefl.results.statistics import FEWEST_FOR_INTERVAL

ACCURACY_SIZE = 0.01  # charts show accuracies in percent


def render(
    study: Study, columns: Mapping[str, EstimateColumn], curves: SweepCurves | None, run_pages: Mapping[int, str]
) -> str:
    """Return the complete page.

    Args:
        study: the sweep.
        columns: the estimates of all measures.
        curves: the learning curves; None where nothing was learned.
        run_pages: the addresses of the pages of runs, by their rows in the index.
    """
    every_goal = goals(study)
    values = {
        "title": escape(study.name),
        "subtitle": escape(_subtitle(study)),
        "banners": _banner(study),
        "answers": _answers(study, columns, every_goal),
        "goals": _goal_buttons(columns, every_goal),
        "keys": _key_choices(study),
        "spread": escape(_spread_text(study)),
        "learning": _learning_section(study, curves),
        "tradeoff": "Time, energy, accuracy" if study.has_accuracy else "Time and energy",
        "points": f'<div class="card">{points_table(study, columns, every_goal, run_pages)}</div>',
        "legend": escape(POINTS_LEGEND),
        "failed": failed_section(study),
        "style": resource("shared/style.css") + resource("sweep/sweep.css"),
        "early": resource("shared/theme.js"),
        "plotly": plotly(),
        "data": as_json(_data(study, columns, every_goal, curves)),
        "script": scripts("sweep/sweep.js"),
    }
    return Template(resource("sweep/template.html")).substitute(values)


# The head of the page


def _subtitle(study: Study) -> str:
    """Return how many points and seeds there are, and what varies."""
    seeds = len(np.unique(study.numbers["seed"]))
    parts = [f"{_count(len(study.points), 'point')}, {_count(seeds, 'seed')}"]
    parts += [_range_text(key) for key in study.keys]
    if not study.has_accuracy:
        parts.append("without test accuracy")
    return " · ".join(parts)


def _count(number: int, thing: str) -> str:
    """Return such as ``1 point`` or ``6 points``."""
    if number == 1:
        return f"1 {thing}"
    return f"{number:,} {thing}s"


def _range_text(key: SweptKey) -> str:
    """Return a key with its lowest and highest value, or with the number of its values."""
    if len(key.texts) == 1:
        return f"{key.title} {key.texts[0]}"
    if key.numbers is not None:
        return f"{key.title} {key.texts[0]} to {key.texts[-1]}"
    return f"{key.title}: {_count(len(key.texts), 'value')}"


def _banner(study: Study) -> str:
    """Return a line that says how many runs have finished; nothing where all have."""
    status = study.texts["status"]
    counts = Counter(status)
    finished = counts.pop(FINISHED_STATUS, 0)
    if not counts:
        return ""
    others = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    runs = _count(len(status), "run")
    text = f"{finished:,} of {runs} have finished ({others}). This page covers the finished runs only."
    style = "bad" if counts[FAILED_STATUS] else ""
    return f'<p class="banner {style}" role="status">{escape(text)}</p>'


def _answers(study: Study, columns: Mapping[str, EstimateColumn], every_goal: Sequence[Goal]) -> str:
    """Return a block of sentences for each goal and key; the script shows the one that is chosen."""
    blocks = []
    for goal_number, goal in enumerate(every_goal):
        for key_number in range(len(study.keys)):
            sentences = answer(study, columns, goal, key_number)
            text = "".join(f"<p>{prose(sentence)}</p>" for sentence in sentences)
            blocks.append(f'<div class="story" data-goal="{goal_number}" data-key="{key_number}" hidden>{text}</div>')
    return "".join(blocks)


# What the reader chooses


def _goal_buttons(columns: Mapping[str, EstimateColumn], every_goal: Sequence[Goal]) -> str:
    choices = {str(number): goal.title for number, goal in enumerate(every_goal)}
    first = first_goal(columns, every_goal)
    return _toggle("goals", "Goal", choices, str(first))


def _toggle(name: str, title: str, choices: Mapping[str, str], chosen: str) -> str:
    """Return a group of buttons, one of which is pressed."""
    buttons = []
    for value, text in choices.items():
        pressed = str(value == chosen).lower()
        buttons.append(
            f'<button type="button" data-value="{value}" aria-pressed="{pressed}">{escape(text)}</button>',
        )
    content = "".join(buttons)
    return f'<div class="toggle" role="group" aria-label="{title}" id="{name}">{content}</div>'


def _key_choices(study: Study) -> str:
    """Return the choice of the key on the horizontal axis, and a filter for each key."""
    if not study.keys:
        return ""
    has_range = [key.numbers is not None and len(key.texts) > 1 for key in study.keys]
    first_axis = int(np.argmax(has_range))  # 0 where no key has one
    choices = [_select("axis", "horizontal axis", [key.title for key in study.keys], first_axis)]
    for number, key in enumerate(study.keys):
        # Choice 0 is all values, so the script takes 1 from the number of a choice.
        choices.append(_select(f"only-{number}", key.title, ["all", *key.texts], 0))
    return "".join(choices)


def _select(name: str, title: str, texts: Sequence[str], chosen: int) -> str:
    """Return a drop-down list, hidden where there is nothing to choose."""
    options = []
    for number, text in enumerate(texts):
        state = " selected" if number == chosen else ""
        options.append(f'<option value="{number}"{state}>{escape(text)}</option>')
    select = f'{escape(title)} <select id="{name}">{"".join(options)}</select>'
    # The script reads the choice all the same.
    if len(texts) < 2:
        return f"<label hidden>{select}</label>"
    return f"<label>{select}</label>"


# Learning curves


def _learning_section(study: Study, curves: SweepCurves | None) -> str:
    """Return the frame of the learning curves, or a line that says why there are none."""
    if curves is None:
        reason = "No finished run has learned anything (--no-train), so there are no learning curves."
        return f'<h2>Learning</h2><p class="note">{reason}</p>'
    views = {"round": "Rounds", "time": "Virtual time", "energy": "Energy"}
    return (
        f'<div class="head"><h2>Learning</h2>{_toggle("views", "Horizontal axis", views, "time")}</div>'
        f'<p class="note">{escape(_learning_note(study, curves))}</p>'
        '<div class="card"><h3>Learning curves</h3><div class="key"></div>'
        '<div class="plot" id="curves"></div><p class="note left"></p></div>'
    )


def _learning_note(study: Study, curves: SweepCurves) -> str:
    """Return what the curves show, and what was left out of them."""
    note = f"Curves are means over seeds. {_spread_text(study)} A curve ends with the first seed that ends."
    points = sum(bool(rows) for rows in study.finished_rows)
    if curves.points < points:
        note += f" The page has the curves of {curves.points:,} of {points:,} points, evenly chosen."
    most_seeds = max(len(rows) for rows in study.finished_rows)
    if curves.seeds < most_seeds:
        note += f" They are over the first {curves.seeds:,} seeds of each point."
    return note


def _spread_text(study: Study) -> str:
    """Return how charts show means over seeds, and how far the seeds are apart."""
    counts = {len(rows) for rows in study.finished_rows if rows}
    sentences = []
    if max(counts, default=0) >= FEWEST_FOR_INTERVAL:
        sentences.append("Bands and bars show the 95 % confidence interval of the mean over seeds.")
    if counts & set(range(2, FEWEST_FOR_INTERVAL)):
        few = f"fewer than {FEWEST_FOR_INTERVAL} seeds"
        sentences.append(
            f"Of points with {few}, small dots and thin lines show each seed: so few give no useful interval."
        )
    return " ".join(sentences)


# Data for the script


def _data(
    study: Study, columns: Mapping[str, EstimateColumn], every_goal: Sequence[Goal], curves: SweepCurves | None
) -> dict[str, Any]:
    """Return what the script draws."""
    shown = {goal.time for goal in every_goal} | {goal.energy for goal in every_goal}
    if "final_accuracy" in columns:
        shown.add("final_accuracy")
    return {
        "template": template(),
        "dark": DARK,
        "colours": RUN_COLOURS,
        "dashes": DASHES,
        "scale": SAMPLES_SCALE,
        "keys": [_key_data(key) for key in study.keys],
        "points": [point.value_indices for point in study.points],
        "goals": [{"title": goal.title, "time": goal.time, "energy": goal.energy} for goal in every_goal],
        "measures": {name: _measure_data(study, columns[name]) for name in sorted(shown)},
        "curves": curves.figure if curves else None,
    }


def _key_data(key: SweptKey) -> Figure:
    """Return a key's axis; a single value is no range, so such a key is drawn as a category."""
    data: Figure = {
        "title": key.title,
        "axis": with_unit(key.title, key.unit),
        "texts": key.texts,
        "numbers": None,
        "log": False,
    }
    if key.numbers is not None and len(key.numbers) > 1:
        numbers = np.array(key.numbers)
        data["numbers"] = short(numbers, 9)
        data["log"] = spans_decades(numbers)
    return data


def _run_values(study: Study, column: EstimateColumn, point: int, size: float) -> list[float | None]:
    """Return the values of a point's runs, in units of this size; a single run is its own mean and needs no mark."""
    values = np.array(list(values_by_seed(study, column.measure, point).values()))
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return []
    return short(known / size)


def _measure_data(study: Study, column: EstimateColumn) -> Figure:
    """Return a measure of all points in one unit: mean with half of its interval, else median, else lower bound.

    Points of few runs have the values of these in place of an interval.
    """
    measure = column.measure
    estimates = column.estimates
    central = np.array([estimate.central for estimate in estimates])
    is_few = [estimate.n < FEWEST_FOR_INTERVAL for estimate in estimates]
    half = np.array([math.nan if few else estimate.half for few, estimate in zip(is_few, estimates, strict=True)])
    above = np.array([estimate.above for estimate in estimates])
    # One unit for all points: a chart has one axis.
    unit = fitting(top([central, above]), measure.units)
    size = unit.size
    unit_name = unit.name
    if measure.is_accuracy:
        size = ACCURACY_SIZE
        unit_name = "%"
    title = measure.title
    if measure.name in {WHOLE_RUN.time, WHOLE_RUN.energy}:
        title = f"{title} of {WHOLE_RUN.title}"
    known = central[np.isfinite(central)]
    return {
        "title": f"{title} [{unit_name}]",
        "accuracy": measure.is_accuracy,
        "y": short(central / size),
        "half": short(half / size, 3),
        "above": short(above / size),
        "runs": [_run_values(study, column, point, size) if few else [] for point, few in enumerate(is_few)],
        "mean": [estimate.reached == estimate.n for estimate in estimates],
        "text": [estimate_text(estimate, measure) for estimate in estimates],
        "log": bool(known.size and not measure.is_accuracy and spans_decades(known)),
    }
