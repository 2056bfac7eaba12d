"""The timeline of the first rounds: devices as rows, what each does as slices of virtual time."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import TIME, Unit, fitting, short, top
from edgefl.records.statuses import NOT_CHOSEN, RECEIVED, REPORTED
from edgefl.results.report.run import phase_bars, wasted_energy
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.describe import kind
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import MUTED, TIME_PHASES, Figure, bar_trace, even_pick

MOST_ROUNDS = 3
MOST_PARTICIPATIONS = 60
MOST_NAMED_DEVICES = 40  # of more devices every second one is written at the axis
# Pixels.
LOWEST_HEIGHT = 400
HIGHEST_HEIGHT = 640
AXIS_HEIGHT = 74  # of the horizontal axis and the rounds' numbers
ROW_HEIGHT = 15
THICKEST_BAR = 34
WIDEST_BAR = 0.78  # of a row's height
NOT_CROSSED = (RECEIVED, *NOT_CHOSEN)  # statuses
CROSS_COLOUR = "#b3392f"
START_DECIMALS = 9  # of seconds: devices whose starts agree so far began together


def card(run: Run, _runs: Sequence[Run]) -> Card:
    """Return the card of the timeline."""
    chart = figure(run)
    key = phase_bars.time_phases([run])
    return Card("timeline", "Timeline", chart, caption(run), key, height=chart["layout"]["height"])


def figure(run: Run) -> Figure:
    """Return a bar with a slice for each phase of each participation, and the rounds' borders as lines."""
    rows = chosen(run)
    durations_s = phase_bars.durations_s(run, rows)
    starts_s = phase_bars.starts_s(run, rows, durations_s)
    round_rows = np.unique(run.devices["row"][rows])
    round_ends_s = run.rounds["time_s"][round_rows]
    unit = fitting(top([round_ends_s]), TIME)
    # A slice begins where the slices before it end.
    slice_starts_s = starts_s + np.cumsum(durations_s, axis=0) - durations_s
    devices = [f"{device:.0f}" for device in run.devices["device"][rows]]

    data = _bars(run, rows, devices, slice_starts_s, durations_s, unit)
    crosses = _crosses(run, rows, devices, slice_starts_s[-1] / unit.size)
    if crosses:
        data.append(crosses)
    round_starts_s = round_ends_s - run.rounds["duration_s"][round_rows]
    begin_s = float(min(starts_s.min(), round_starts_s.min()))
    return {"data": data, "layout": _layout(run, round_rows, devices, unit, begin_s)}


def _bars(
    run: Run, rows: Rows, devices: list[str], slice_starts_s: Floats, durations_s: Floats, unit: Unit
) -> list[Figure]:
    round_numbers = run.rounds["number"][run.devices["row"][rows]]
    hover_values = []
    for number, outcome in zip(round_numbers, _outcome_texts(run, rows), strict=True):
        hover_values.append([f"{number:.0f}", outcome])
    traces: list[Figure] = []
    drawn = phase_bars.time_phases([run])
    for phase, start_s, duration_s in zip(TIME_PHASES, slice_starts_s, durations_s, strict=True):
        if phase not in drawn:
            continue
        participation = "<b>device %{y}</b>, round %{customdata[0]}, %{customdata[1]}"
        hover = f"{participation}<br>{phase.name} %{{x:.3~g}} {unit.name}"
        lengths = short(duration_s / unit.size, 4)
        more = {"orientation": "h", "base": short(start_s / unit.size, 6), "customdata": hover_values}
        traces.append(bar_trace(phase.name, phase.colour, lengths, devices, hover, **more))
    return traces


def _crosses(run: Run, rows: Rows, devices: list[str], ends: Floats) -> Figure | None:
    """Return crosses where work ended [n] whose update the server did not receive; None where it received all."""
    lost = np.flatnonzero(~np.isin(run.devices["status"][rows], NOT_CROSSED))
    if not lost.size:
        return None
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "not received",
        "x": short(ends[lost], 6),
        "y": [devices[index] for index in lost],
        "marker": {"symbol": "x-thin", "size": 8, "line": {"color": CROSS_COLOUR, "width": 2.5}},
        "hovertext": _outcome_texts(run, rows[lost]),
        "hovertemplate": "<b>device %{y}</b>: %{hovertext}<extra></extra>",
    }


def _outcome_texts(run: Run, rows: Rows) -> list[str]:
    return [wasted_energy.outcome_text(outcome) for outcome in wasted_energy.outcomes(run)[rows].tolist()]


def caption(run: Run) -> str:
    """Return which rounds and how many of their participations are drawn."""
    rows = chosen(run)
    rounds = np.unique(run.devices["row"][rows])
    every_row = np.concatenate([run.participations["row"], run.evaluations["row"]])
    participations = int(np.isin(every_row, rounds).sum())
    text = "The first round"
    if len(rounds) > 1:
        text = f"The first {len(rounds)} rounds"
    if participations > len(rows):
        text += f", {len(rows)} of {participations:,} participations"
    text += "."
    if kind(run.scenario, "server.policy") == "split":
        text += " Phases alternate at every step; their sums are drawn."
    if not np.isin(run.devices["status"][rows], NOT_CROSSED).all():
        text += " Crosses: not received."
    return text


def chosen(run: Run) -> Rows:
    """Return the device rows to draw, first and fastest on top.

    They are the participations of whole rounds, as many as fit; else an even pick from the first round.
    """
    every_row = np.flatnonzero(run.devices["status"] != REPORTED)
    round_row = run.devices["row"][every_row]
    durations_s = phase_bars.durations_s(run, every_row)
    starts_s = phase_bars.starts_s(run, every_row, durations_s)
    working_s = durations_s[:-1].sum(axis=0)  # without the wait for the end of the round
    order: Rows = np.lexsort((working_s, starts_s.round(START_DECIMALS), round_row))
    first_round: Rows = every_row[order[round_row[order] == round_row.min()]]
    if len(first_round) > MOST_PARTICIPATIONS:  # even one round is too large
        return np.take(first_round, even_pick(len(first_round), MOST_PARTICIPATIONS))
    last_round = round_row.min()
    for candidate in np.unique(round_row)[:MOST_ROUNDS]:
        if (round_row <= candidate).sum() <= MOST_PARTICIPATIONS:
            last_round = candidate
    return every_row[np.compress(round_row[order] <= last_round, order)]


def _layout(run: Run, round_rows: Rows, devices: list[str], unit: Unit, begin_s: float) -> Figure:
    ends = run.rounds["time_s"][round_rows] / unit.size
    lengths = run.rounds["duration_s"][round_rows] / unit.size
    categories = list(dict.fromkeys(devices))  # each device once, in the order of the rows to draw
    rows = len(categories)
    height = max(LOWEST_HEIGHT, min(HIGHEST_HEIGHT, AXIS_HEIGHT + ROW_HEIGHT * rows))
    return {
        "barmode": "overlay",
        "bargap": 1 - min(WIDEST_BAR, THICKEST_BAR * rows / (height - AXIS_HEIGHT)),
        "height": height,
        "margin": {"t": 28},
        "xaxis": {
            "title": {"text": f"virtual time [{unit.name}]"},
            "range": [begin_s / unit.size, 1.01 * float(ends.max())],
        },
        "yaxis": _device_axis(categories),
        "shapes": _round_borders(ends, lengths),
        "annotations": _round_numbers(run.rounds["number"][round_rows], ends - lengths / 2),
    }


def _device_axis(categories: list[str]) -> Figure:
    return {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": categories,
        "range": [len(categories) - 0.5, -0.5],
        "title": {"text": "device"},
        "tickmode": "linear",
        "dtick": 1 if len(categories) <= MOST_NAMED_DEVICES else 2,
        "tickfont": {"size": 10.5, "color": MUTED},
        "showgrid": False,
    }


def _round_borders(ends: Floats, lengths: Floats) -> list[Figure]:
    line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": "#7d8894", "width": 1, "dash": "dot"}}
    # Rounds often follow each other without a pause: the end of one and the start of the next are then one border.
    borders = {*short(ends - lengths, 6), *short(ends, 6)}
    return [line | {"x0": border, "x1": border} for border in sorted(borders, key=lambda value: value or 0)]


def _round_numbers(numbers: Floats, middles: Floats) -> list[Figure]:
    text = {"yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "font": {"color": MUTED, "size": 12}}
    annotations = []
    for number, middle in zip(numbers, short(middles), strict=True):
        annotations.append(text | {"text": f"round {number:.0f}", "x": middle})
    return annotations
