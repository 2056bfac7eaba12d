"""The page of a sweep: numbers and tables put into the template; the script draws them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import fitting, short, top
from edgefl.results.report.labels import SCALE
from edgefl.results.report.resources import as_json, packed, plotly, resource
from edgefl.results.report.style import DASHES, RUN_COLOURS, Figure, prose, template
from edgefl.results.report.sweep import tables
from edgefl.results.report.sweep.answer import answer
from edgefl.results.report.sweep.columns import Column, Goal, goals, told
from edgefl.results.report.sweep.curves import Curves
from edgefl.results.report.sweep.study import FINISHED, Key, Study

WIDE = 30  # largest by smallest value from which on an axis is logarithmic


def render(study: Study, found: Mapping[str, Column], drawn: Curves | None) -> str:
    """The complete page."""
    wanted = goals(study)
    first = _first(found, wanted)
    values = {
        "title": escape(study.name),
        "subtitle": escape(_subtitle(study)),
        "banners": _banner(study),
        "answers": _answers(study, found, wanted),
        "goals": _goals(wanted, first),
        "keys": _selects(study),
        "learning": _learning(study, drawn),
        "tradeoff": "Time, energy, accuracy" if study.learned else "Time and energy",
        "points": f'<div class="card">{tables.points(study, found, wanted)}</div>',
        "legend": escape(tables.LEGEND),
        "failed": tables.failed(study),
        "style": resource("style.css") + resource("sweep/sweep.css"),
        "plotly": packed(plotly()),
        "data": as_json(_data(study, found, wanted, drawn)),
        "script": resource("sweep/sweep.js") + resource("print.js"),
    }
    return Template(resource("sweep/template.html")).substitute(values)


def _first(found: Mapping[str, Column], wanted: Sequence[Goal]) -> int:
    """The goal that is shown first: the highest target that most points have got to, else the whole run."""
    for place in range(len(wanted) - 2, -1, -1):
        estimates = found[wanted[place].time].estimates
        if 2 * sum(bool(np.isfinite(one.central)) for one in estimates) > len(estimates):
            return place
    return len(wanted) - 1


def _subtitle(study: Study) -> str:
    """How many points and seeds, and what varies."""
    seeds = len(np.unique(study.numbers["seed"]))
    counts = f"{_count(len(study.points), 'point')}, {_count(seeds, 'seed')}"
    return " · ".join([counts, *map(_range, study.keys)]) + ("" if study.learned else " · priced without learning")


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _range(key: Key) -> str:
    if key.numbers is not None and len(key.texts) > 1:
        return f"{key.title} {key.texts[0]} to {key.texts[-1]}"
    return f"{key.title}: {_count(len(key.texts), 'value')}"


def _banner(study: Study) -> str:
    """A line where not all runs have finished."""
    counts = Counter(study.texts["status"])
    if set(counts) == {FINISHED}:
        return ""
    done = counts.pop(FINISHED, 0)
    rest = ", ".join(f"{number:,} {status}" for status, number in counts.items())
    text = f"{done:,} of {_count(len(study.texts['status']), 'run')} have finished ({rest}): the page is about these."
    return f'<p class="banner {"bad" if counts["failed"] else ""}" role="status">{escape(text)}</p>'


def _answers(study: Study, found: Mapping[str, Column], wanted: Sequence[Goal]) -> str:
    """A paragraph for each goal and key; the script shows the one that is chosen."""
    place = '<div class="story" data-goal="{}" data-key="{}" hidden>{}</div>'
    return "".join(
        place.format(number, key, _lines(answer(study, found, goal, key)))
        for number, goal in enumerate(wanted)
        for key in range(len(study.keys))
    )


def _lines(sentences: Sequence[str]) -> str:
    return "".join(f"<p>{prose(sentence)}</p>" for sentence in sentences)


def _goals(wanted: Sequence[Goal], first: int) -> str:
    return _toggle("goals", "Goal", {str(place): goal.title for place, goal in enumerate(wanted)}, str(first))


def _toggle(name: str, title: str, choices: Mapping[str, str], chosen: str) -> str:
    """Buttons of which one is pressed."""
    button = '<button type="button" data-value="{}" aria-pressed="{}">{}</button>'
    pressed = {value: str(value == chosen).lower() for value in choices}
    buttons = "".join(button.format(value, pressed[value], escape(text)) for value, text in choices.items())
    return f'<div class="toggle" role="group" aria-label="{title}" id="{name}">{buttons}</div>'


def _selects(study: Study) -> str:
    """The key on the horizontal axis, and a filter for each key."""
    if not study.keys:
        return ""
    numeric = [place for place, key in enumerate(study.keys) if key.numbers is not None and len(key.texts) > 1]
    axis = _select("axis", "over", [key.title for key in study.keys], numeric[0] if numeric else 0)
    filters = [_select(f"only-{place}", key.title, ["all", *key.texts], 0) for place, key in enumerate(study.keys)]
    return "".join([axis, *filters])


def _select(name: str, title: str, texts: Sequence[str], chosen: int) -> str:
    """A choice, hidden where there is none."""
    options = "".join(
        f'<option value="{place}"{" selected" if place == chosen else ""}>{escape(text)}</option>'
        for place, text in enumerate(texts)
    )
    return f'<label{" hidden" if len(texts) < 2 else ""}>{escape(title)} <select id="{name}">{options}</select></label>'


def _learning(study: Study, drawn: Curves | None) -> str:
    """The frame of the learning curves, or a line on why there are none."""
    if drawn is None:
        return '<h2>Learning</h2><p class="note">Nothing was learned (--no-train): there are no learning curves.</p>'
    some = sum(map(bool, study.finished))
    note = "Mean over seeds and its 95 % confidence interval, as far as all seeds of a point go."
    if drawn.points < some:
        note += f" The page has the curves of {drawn.points:,} of {some:,} points, an even pick."
    if drawn.seeds < max(map(len, study.finished)):
        note += f" Of each point {drawn.seeds:,} seeds are in it."
    views = {"round": "Rounds", "time": "Virtual time", "energy": "Energy"}
    return (
        f'<div class="head"><h2>Learning</h2>{_toggle("views", "Horizontal axis", views, "time")}</div>'
        f'<p class="note">{escape(note)}</p><div class="card"><div class="key"></div>'
        '<div class="plot" id="curves"></div><p class="note left"></p></div>'
    )


def _data(study: Study, found: Mapping[str, Column], wanted: Sequence[Goal], drawn: Curves | None) -> dict[str, Any]:
    """What the script draws."""
    shown = {name for goal in wanted for name in (goal.time, goal.energy)} | ({"final_accuracy"} & set(found))
    return {
        "template": template(),
        "colours": RUN_COLOURS,
        "dashes": DASHES,
        "scale": SCALE,
        "keys": [_key(key) for key in study.keys],
        "at": [point.at for point in study.points],
        "goals": [{"title": goal.title, "time": goal.time, "energy": goal.energy} for goal in wanted],
        "measures": {name: _measure(found[name], wanted) for name in sorted(shown)},
        "curves": drawn.figure if drawn else None,
    }


def _key(key: Key) -> Figure:
    title = f"{key.title} [{key.unit.name}]" if key.unit.name else key.title
    numbers = None if key.numbers is None or len(key.numbers) < 2 else np.array(key.numbers)
    return {
        "title": key.title,
        "axis": title,
        "texts": key.texts,
        "numbers": None if numbers is None else short(numbers, 9),
        "log": numbers is not None and _wide(numbers),
    }


def _wide(values: Floats) -> bool:
    return bool(values.min() > 0 and values.max() > WIDE * values.min())


def _measure(column: Column, wanted: Sequence[Goal]) -> Figure:
    """A measure of all points in one unit: a mean with half its interval, else a median, else what it exceeds."""
    measure, estimates = column.measure, column.estimates
    central, half, above = (
        np.array([getattr(one, name) for one in estimates]) for name in ("central", "half", "above")
    )
    unit = fitting(top([central, above]), measure.units)
    size = 0.01 if measure.accuracy else unit.size
    known = central[np.isfinite(central)]
    title = "%" if measure.accuracy else unit.name
    whole = {name: goal for goal in wanted if goal.title == wanted[-1].title for name in (goal.time, goal.energy)}
    of = f" of {whole[measure.name].title}" if measure.name in whole else ""
    return {
        "title": f"{measure.title}{of} [{title}]",
        "accuracy": measure.accuracy,
        "y": short(central / size),
        "half": short(half / size, 3),
        "above": short(above / size),
        "mean": [one.reached == one.n for one in estimates],
        "text": [told(one, measure) for one in estimates],
        "log": bool(known.size and not measure.accuracy and _wide(known)),
    }
