"""The trajectories of devices as lines on the map."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Bools, Floats, Rows
from edgefl.core.units import TIME, fitting, short, top
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.shared.style import Figure, even_pick

NAME = "trajectories"
LINE_COLOUR = "#1f5d99"
JUMP = 5.0  # median steps of a device: a longer one is a trace that begins again, not a movement
PAUSE = 1.5  # intervals between samples of the tracks: after a longer pause the device had been away
LEGIBLE_LENGTH = 30.0  # half widths of the map, for the total length of all lines
LEAST_LENGTH = 0.01  # half widths of the map: a device with a shorter trajectory stood still
FEWEST_LINES = 3


def figure(tracks: ColumnArrays, half_m: float) -> Figure | None:
    """Return one trace with all trajectories, on a map of half width ``half_m``; None where no device moves.

    Lines are broken between devices, and where a device was away or was put elsewhere.
    """
    # One trace for all: Plotly is slow with many, and a gap separates lines as well.
    pieces: list[Rows] = []
    for rows in chosen(tracks, half_m):
        pieces += np.split(rows, _breaks(tracks, rows) + 1)
    if not pieces:
        return None
    unit = fitting(top([tracks["time_s"]]), TIME)
    device = short(_with_gaps(tracks["device"], pieces))
    time = short(_with_gaps(tracks["time_s"], pieces) / unit.size)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": NAME,
        "x": short(_with_gaps(tracks["x_m"], pieces)),
        "y": short(_with_gaps(tracks["y_m"], pieces)),
        "customdata": list(zip(device, time, strict=True)),
        "line": {"color": LINE_COLOUR, "width": 1.4},
        "opacity": 0.6,
        "hovertemplate": f"device %{{customdata[0]}} at %{{customdata[1]}} {unit.name}<extra></extra>",
    }


def chosen(tracks: ColumnArrays, half_m: float) -> list[Rows]:
    """Return the rows of each device whose trajectory is drawn: an even pick of those that move.

    The longer the trajectories are, the fewer are drawn, and of very long ones the last parts only, so that the map
    stays legible.
    """
    moving = []
    total_m = 0.0
    for device in np.unique(tracks["device"]):
        rows = np.flatnonzero(tracks["device"] == device)
        length_m = float(_steps_m(tracks, rows).sum())
        total_m += length_m
        if length_m > LEAST_LENGTH * half_m:
            moving.append(rows)
    if not moving:
        return []
    legible_lines = int(LEGIBLE_LENGTH * half_m * len(moving) / total_m)
    picked = even_pick(len(moving), max(legible_lines, FEWEST_LINES))
    longest_m = LEGIBLE_LENGTH * half_m / FEWEST_LINES
    return [_last_part(tracks, moving[index], longest_m) for index in picked]


def are_cut(tracks: ColumnArrays, lines: Sequence[Rows]) -> bool:
    """Return whether only the last parts of these trajectories are drawn."""
    return any(np.count_nonzero(tracks["device"] == tracks["device"][rows[0]]) > len(rows) for rows in lines)


def _last_part(tracks: ColumnArrays, rows: Rows, longest_m: float) -> Rows:
    """Return the last rows of a device, whose line is no longer than this; at least two of them."""
    to_the_end_m = np.cumsum(_steps_m(tracks, rows)[::-1])
    steps = max(1, int((to_the_end_m <= longest_m).sum()))
    return rows[-(steps + 1) :]


def _steps_m(tracks: ColumnArrays, rows: Rows) -> Floats:
    return np.asarray(np.hypot(np.diff(tracks["x_m"][rows]), np.diff(tracks["y_m"][rows])))


def _breaks(tracks: ColumnArrays, rows: Rows) -> Rows:
    """Return the positions in a device's rows after which its line is broken: it was away or was put elsewhere."""
    return np.flatnonzero(_jumped(tracks, rows) | _was_away(tracks, rows))


def _jumped(tracks: ColumnArrays, rows: Rows) -> Bools:
    """Return whether the device was put elsewhere after each of its rows but the last [n - 1]."""
    steps_m = _steps_m(tracks, rows)
    moves = steps_m > 0
    if not moves.any():
        return moves
    return np.asarray(steps_m > JUMP * np.median(steps_m[moves]))


def _was_away(tracks: ColumnArrays, rows: Rows) -> Bools:
    """Return whether the device was away between each of its rows and the next [n - 1].

    All devices share the instants of the table; one that is away has no row at some of them.
    """
    interval_s = np.diff(np.unique(tracks["time_s"])).min(initial=np.inf)
    return np.asarray(np.diff(tracks["time_s"][rows]) > PAUSE * interval_s)


def _with_gaps(column: Floats, pieces: list[Rows]) -> Floats:
    return np.concatenate([np.append(column[rows], np.nan) for rows in pieces])
