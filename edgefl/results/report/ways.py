"""The ways of devices, as lines on the map."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import TIME, fitting, short, top
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.style import Figure, even

LINE_COLOUR = "#1f5d99"
JUMP = 5.0  # median steps of a device: a longer one puts it elsewhere, as when a trace begins again
PAUSE = 1.5  # instants of the table: after a longer pause a device was away
SHORTEST = 0.01  # half widths of the map: devices that go less far stay where they are
LEGIBLE = 30.0  # half widths of the map that all ways together may be long
FEWEST = 3  # ways that are drawn however long they are


def figure(tracks: ColumnArrays, half_m: float) -> Figure | None:
    """Return one line with gaps between the devices and where a device was away; None where no device moves.

    Args:
        tracks: the columns of ``tracks.csv``.
        half_m: half the width of the map.
    """
    # One trace for all ways: Plotly is slow with many, and a gap separates them as well.
    stretches: list[Rows] = []
    for rows in chosen(tracks, half_m):
        stretches += np.split(rows, _breaks(tracks, rows) + 1)
    if not stretches:
        return None
    unit = fitting(top([tracks["time_s"]]), TIME)
    devices = short(_gapped(tracks["device"], stretches))
    times = short(_gapped(tracks["time_s"], stretches) / unit.size)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "ways",
        "x": short(_gapped(tracks["x_m"], stretches)),
        "y": short(_gapped(tracks["y_m"], stretches)),
        "customdata": list(zip(devices, times, strict=True)),
        "line": {"color": LINE_COLOUR, "width": 1.4},
        "opacity": 0.6,
        "hovertemplate": f"device %{{customdata[0]}} at %{{customdata[1]}} {unit.name}<extra></extra>",
    }


def chosen(tracks: ColumnArrays, half_m: float) -> list[Rows]:
    """Return the rows of each device whose way is drawn: an even pick of those that move, fewer where ways are long.

    Args:
        tracks: the columns of ``tracks.csv``.
        half_m: half the width of the map.
    """
    moving = []
    total_m = 0.0
    for device in np.unique(tracks["device"]):
        rows = np.flatnonzero(tracks["device"] == device)
        length_m = float(_steps_m(tracks, rows).sum())
        total_m += length_m
        if length_m > SHORTEST * half_m:
            moving.append(rows)
    if not moving:
        return []
    legible = int(LEGIBLE * half_m * len(moving) / total_m)  # so many ways of mean length
    return [moving[place] for place in even(len(moving), max(legible, FEWEST))]


def _steps_m(tracks: ColumnArrays, rows: Rows) -> Floats:
    """Return the distances between neighbouring rows of a device [rows - 1]."""
    return np.asarray(np.hypot(np.diff(tracks["x_m"][rows]), np.diff(tracks["y_m"][rows])))


def _breaks(tracks: ColumnArrays, rows: Rows) -> Rows:
    """Return the places in a device's rows behind which its line is broken: it was away, or was put elsewhere."""
    steps_m = _steps_m(tracks, rows)
    usual_m = np.median(steps_m[steps_m > 0])
    jumped = steps_m > JUMP * usual_m
    # All devices share the table's instants; a device that is away has no row at some of them.
    instant_s = np.diff(np.unique(tracks["time_s"])).min()
    was_away = np.diff(tracks["time_s"][rows]) > PAUSE * instant_s
    return np.flatnonzero(jumped | was_away)


def _gapped(column: Floats, stretches: list[Rows]) -> Floats:
    """Return the values of the stretches, one after the other, with NaN behind each, which breaks the line."""
    return np.concatenate([np.append(column[rows], np.nan) for rows in stretches])
