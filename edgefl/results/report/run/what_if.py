"""The section "What if?": a card for each run that has been priced with other values, with a slider for each key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.units import ENERGY, TIME, Unit, as_number, digits, fitting, quantity, units_of_key, with_unit
from edgefl.results.csv_format import csv_cell
from edgefl.results.report.shared import key_words
from edgefl.results.report.shared.describe import at
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import RUN_COLOURS, Figure, KeyEntry, StyledRun, plotly_text, spans_decades
from edgefl.results.report.shared.templates import Html, render
from edgefl.results.what_if_table import Measure, WhatIfRow, measures_of, ratio, value_cell, value_text

OWN = "as in the run"
LOGARITHMIC_RATIO = 10  # of a key's largest to its smallest value: from this on ranges are geometric
PANELS = ([0.0, 0.455], [0.545, 1.0])  # of the chart's width: time, energy
COST_CELL = Html('<strong data-cost="{}">{}</strong>')
RATIO_CELL = Html('<span class="note" data-cost="{}-ratio"></span>')


@dataclass(frozen=True)
class Point:
    """A value of a key on its slider."""

    label: str
    value: float | None  # None: no number
    row: WhatIfRow
    own: bool  # whether it is the run's own value


@dataclass(frozen=True)
class KeyPoints:
    """A key and the values on its slider, in order; one of them is the run's own."""

    key: str
    points: Sequence[Point]

    @property
    def own(self) -> int:
        """The place of the run's own value."""
        return next(place for place, point in enumerate(self.points) if point.own)

    @property
    def gap(self) -> int:
        """The number of places that the chart leaves empty after the first one: 1 after a distribution, otherwise 0."""
        others = [point for point in self.points if not point.own]
        return int(not self.numeric and all(point.value is not None for point in others))

    @property
    def numeric(self) -> bool:
        """True if all values are numbers."""
        return all(point.value is not None for point in self.points)

    @property
    def title(self) -> str:
        """The key in words."""
        return key_words.title(self.key)


class WhatIfCard(NamedTuple):
    """The card of a run; without keys if there is nothing to choose from."""

    name: str
    run: StyledRun
    belongs: bool  # whether the table belongs to this run
    keys: Sequence[KeyPoints]
    single: Sequence[KeyPoints]  # with only the run's own value
    costs: Sequence[Sequence[str]]
    colours: Sequence[KeyEntry]
    refused: Sequence[tuple[str, str, str]]


def section(runs: Sequence[StyledRun]) -> Html:
    """Return the section with a card for each run that has other prices; an empty text if none has."""
    cards = [_card(run, index) for index, run in enumerate(runs) if run.data.what_if]
    return render("run/what_if.html.j2", cards=cards, alone=len(runs) == 1)


def figures(runs: Sequence[StyledRun]) -> dict[str, Figure]:
    """Return the chart that each card opens with, by name."""
    found = {}
    for index, run in enumerate(runs):
        if _is_current(run.data):
            found[_name(index)] = _figure(run, _keys_of(run.data)[0])
    return found


def data(runs: Sequence[StyledRun]) -> dict[str, Any]:
    """Return the data that the sliders need, by the name of the chart."""
    found = {}
    for index, run in enumerate(runs):
        if _is_current(run.data):
            found[_name(index)] = [_key_data(run, key_points) for key_points in _keys_of(run.data)]
    return found


def _is_current(run: Run) -> bool:
    return bool(run.what_if) and _belongs(run) and bool(_keys_of(run))


def _belongs(run: Run) -> bool:
    own = run.what_if[0]
    names = ("rounds", "time_s", "energy_j")
    return all(csv_cell(own.costs.get(name)) == csv_cell(as_number(run.summary.get(name))) for name in names)


def _keys_of(run: Run) -> list[KeyPoints]:
    return [key_points for key_points in _priced(run) if len(key_points.points) > 1]


def _priced(run: Run) -> list[KeyPoints]:
    """Return the keys with a price, in the order of the table; of some only the run's own value has one."""
    found = []
    for key in dict.fromkeys(row.key for row in run.what_if[1:]):
        priced = [row for row in run.what_if if row.key == key and not row.refused]
        if priced:
            found.append(KeyPoints(key, _points(run, key, priced)))
    return found


def _points(run: Run, key: str, rows: Sequence[WhatIfRow]) -> list[Point]:
    own_value = at(run.scenario, key)
    if isinstance(own_value, Mapping) and list(own_value) == ["kind"]:
        own_value = own_value["kind"]  # the name of a member without keys
    own_cell = value_cell(own_value)
    own_number = None if isinstance(own_value, bool) else as_number(own_value)
    points = []
    for row in rows:
        value = as_number(row.value)
        same = row.value == own_cell or (value is not None and value == own_number)
        points.append(Point(value_text(key, row.value), value, row, same))
    if any(point.own for point in points):
        return points
    own_row = run.what_if[0]
    numeric = own_number is not None and all(point.value is not None for point in points)
    if not numeric:  # such as a distribution, which has no place among numbers
        return [Point(OWN, None, own_row, own=True), *points]
    points.append(Point(value_text(key, own_cell), own_number, own_row, own=True))
    return sorted(points, key=lambda point: point.value or 0.0)


def _name(index: int) -> str:
    return f"what-if-{index}"


def _card(run: StyledRun, index: int) -> WhatIfCard:
    belongs = _belongs(run.data)
    priced = _priced(run.data) if belongs else []
    keys = [key_points for key_points in priced if len(key_points.points) > 1]
    single = [key_points for key_points in priced if len(key_points.points) == 1]
    costs = _costs(run.data) if keys else []
    names = [measure.name for measure in measures_of(run.data.what_if[0])]
    colours = [KeyEntry(name, _colour(run, number)) for number, name in enumerate(names)]
    rows = [row for row in run.data.what_if if row.refused]
    refused = [(row.key, value_text(row.key, row.value), row.refused) for row in rows]
    return WhatIfCard(_name(index), run, belongs, keys, single, costs, colours, refused)


def _costs(run: Run) -> list[list[str]]:
    own = run.what_if[0]
    body = []
    for number, measure in enumerate(measures_of(own)):
        cells = [_measure_name(own, measure)]
        for kind, column, units in (("time", measure.time, TIME), ("energy", measure.energy, ENERGY)):
            cost = quantity(own.costs.get(column), units)
            place = f"{number}-{kind}"
            cells += [cost, COST_CELL.format(place, cost), RATIO_CELL.format(place)]
        body.append(cells)
    return body


def _measure_name(own: WhatIfRow, measure: Measure) -> str:
    rounds = digits(own.costs.get(measure.round) or 0.0)
    if measure.round == "rounds":
        return f"{measure.name}, {rounds} rounds"
    return f"{measure.name}, round {rounds}"


def _colour(run: StyledRun, number: int) -> str:
    colours = [run.colour, *(colour for colour in RUN_COLOURS if colour != run.colour)]
    return colours[number % len(colours)]


# The chart


def _figure(run: StyledRun, key_points: KeyPoints) -> Figure:
    own_row = run.data.what_if[0]
    measures = measures_of(own_row)
    x, x_axis = _x_axis(key_points)
    traces: list[Figure] = []
    layout: Figure = {}
    times = [measure.time for measure in measures]
    energies = [measure.energy for measure in measures]
    for panel, (name, units, columns) in enumerate((("time", TIME, times), ("energy", ENERGY, energies))):
        number = "" if panel == 0 else "2"
        costs = [
            _with_gap(key_points, [point.row.costs.get(column) for point in key_points.points]) for column in columns
        ]
        unit = _unit(costs, units)
        layout[f"yaxis{number}"] = {"title": {"text": with_unit(name, unit)}, "anchor": f"x{number}"}
        layout[f"yaxis{number}"] |= _scale(costs)
        layout[f"xaxis{number}"] = x_axis | {"domain": PANELS[panel], "anchor": f"y{number}"}
        for place, measure in enumerate(measures):
            colour = _colour(run, place)
            y = [_in_unit(cost, unit) for cost in costs[place]]
            axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
            trace = axes | _line(measure, x, y, colour, unit, own=key_points.own)
            if not key_points.numeric and not key_points.gap:
                trace["mode"] = "markers"  # there is nothing between two names
            traces.append(trace)
    return {"data": traces, "layout": layout | {"hovermode": "closest"}}


def _line(
    measure: Measure, x: Sequence[Any], y: Sequence[float | None], colour: str, unit: Unit, *, own: int
) -> Figure:
    name = plotly_text(measure.name)
    sizes = [5] * len(x)
    fills = [colour] * len(x)
    sizes[own] = 10
    fills[own] = "rgba(0,0,0,0)"
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": 2},
        "marker": {"color": fills, "size": sizes, "line": {"color": colour, "width": 2}},
        "cliponaxis": False,
        "hovertemplate": f"{name} %{{y:.4~g}} {unit.name}<br>%{{x}}<extra></extra>",
    }


def _x_axis(key_points: KeyPoints) -> tuple[list[Any], Figure]:
    title = plotly_text(key_words.in_words(key_points.key))
    values = [point.value for point in key_points.points if point.value is not None]
    if not key_points.numeric:
        labels = _with_gap(key_points, [plotly_text(point.label) for point in key_points.points])
        return labels, {"type": "category", "title": {"text": title}}
    unit = fitting(max(map(abs, values)), units_of_key(key_points.key))
    axis: Figure = {"title": {"text": with_unit(title, unit)}, "tickformat": "~g"}
    if not unit.name:
        axis["tickformat"] = "~s"
    if min(values) > 0 and max(values) / min(values) > LOGARITHMIC_RATIO:
        axis |= {"type": "log", "dtick": "D2"}
    return [value / unit.size for value in values], axis


def _with_gap(key_points: KeyPoints, values: list[Any]) -> list[Any]:
    return [values[0], *[None] * key_points.gap, *values[1:]]


def _in_unit(cost: float | None, unit: Unit) -> float | None:
    if cost is None:
        return None
    return cost / unit.size


def _unit(costs: Sequence[Sequence[float | None]], units: Sequence[Unit]) -> Unit:
    return fitting(max((cost for line in costs for cost in line if cost is not None), default=0.0), units)


def _scale(costs: Sequence[Sequence[float | None]]) -> Figure:
    """Return the scale of an axis of costs: from 0, or logarithmic where small ones would vanish."""
    positive = np.array([cost for line in costs for cost in line if cost])
    if positive.size and spans_decades(positive):
        return {"type": "log", "dtick": "D2", "tickformat": "~g"}
    return {"rangemode": "tozero"}


# Data for the script


def _key_data(run: StyledRun, key_points: KeyPoints) -> dict[str, Any]:
    own = run.data.what_if[0]
    return {
        "words": key_words.in_words(key_points.key),
        "own": key_points.own,
        "gap": key_points.gap,
        "figure": _figure(run, key_points),
        "points": [{"label": point.label, "costs": _texts(own, point.row)} for point in key_points.points],
    }


def _texts(own: WhatIfRow, row: WhatIfRow) -> list[dict[str, str]]:
    return [
        {
            "time": quantity(row.costs.get(measure.time), TIME),
            "time-ratio": ratio(row.costs.get(measure.time), own.costs.get(measure.time)),
            "energy": quantity(row.costs.get(measure.energy), ENERGY),
            "energy-ratio": ratio(row.costs.get(measure.energy), own.costs.get(measure.energy)),
        }
        for measure in measures_of(own)
    ]
