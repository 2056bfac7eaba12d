"""Where devices went, as lines on the map."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import TIME, fitting, short, top
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.style import Figure, even

WAY = "#1f5d99"
JUMP = 5.0  # median steps of a device, from which on it was put elsewhere, as when a trace begins again
LEGIBLE = 30.0  # half widths of the map that all ways together may be long
LEAST, FEWEST = 0.01, 3  # half widths that a way is long at least; ways


def figure(tracks: ColumnArrays, half_m: float) -> Figure | None:
    """One line with gaps between the devices, and where one was not there. None where nobody moves."""
    parts = [part for rows in chosen(tracks, half_m) for part in np.split(rows, _breaks(tracks, rows) + 1)]
    if not parts:
        return None
    unit = fitting(top([tracks["time_s"]]), TIME)
    columns = [_gapped(tracks[name], parts) for name in ("x_m", "y_m", "device", "time_s")]
    x, y, device, time = (short(column) for column in (*columns[:3], columns[3] / unit.size))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "ways",
        "x": x,
        "y": y,
        "customdata": list(zip(device, time, strict=True)),
        "line": {"color": WAY, "width": 1.4},
        "opacity": 0.6,
        "hovertemplate": f"device %{{customdata[0]}} at %{{customdata[1]}} {unit.name}<extra></extra>",
    }


def chosen(tracks: ColumnArrays, half_m: float) -> list[Rows]:
    """Rows of each device whose way is drawn: an even pick, of fewer where ways are long, without those that stay."""
    every = [np.flatnonzero(tracks["device"] == name) for name in np.unique(tracks["device"])]
    lengths = [float(_steps_m(tracks, rows).sum()) for rows in every]
    moving = [rows for rows, length in zip(every, lengths, strict=True) if length > LEAST * half_m]
    if not moving:
        return []
    room = int(LEGIBLE * half_m * len(moving) / sum(lengths))
    return [moving[place] for place in even(len(moving), max(room, FEWEST))]


def _steps_m(tracks: ColumnArrays, rows: Rows) -> Floats:
    return np.asarray(np.hypot(np.diff(tracks["x_m"][rows]), np.diff(tracks["y_m"][rows])))


def _breaks(tracks: ColumnArrays, rows: Rows) -> Rows:
    """After which of a device's rows its line is broken: it was away, or put elsewhere."""
    steps, pauses = _steps_m(tracks, rows), np.diff(tracks["time_s"][rows])
    usual = np.median(steps[steps > 0])
    instant = np.diff(np.unique(tracks["time_s"])).min()
    return np.flatnonzero((steps > JUMP * usual) | (pauses > 1.5 * instant))


def _gapped(column: Floats, parts: list[Rows]) -> Floats:
    """Values of the parts, one after the other, with NaN behind each."""
    return np.concatenate([np.append(column[part], np.nan) for part in parts])
