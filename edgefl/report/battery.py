"""Batteries: how full they were in the mean, how many were empty, and each device's own level."""

from __future__ import annotations

import numpy as np

from edgefl.report import overtime
from edgefl.report.overtime import Panel
from edgefl.report.population import WHOLE
from edgefl.report.read import Run
from edgefl.report.style import TIME_PHASES, Figure, even
from edgefl.units import Floats

FULL, EMPTY, OWN = "#0072b2", "#d55e00", "rgba(31,93,153,0.35)"
MOST_DEVICES, MOST_LEVELS = 40, 60  # of each device


def figure(run: Run) -> Figure | None:
    """Mean level; devices without charge; levels of single devices when their parts ended. None without batteries."""
    time_s, level, empty = (run.rounds[name] for name in ("time_s", "battery", "depleted"))
    if not np.isfinite(level).any():
        return None
    mean = overtime.line(run, time_s, 100 * level, "mean level in %", FULL)
    panels = [Panel("mean level [%]", [mean], 1.4, {"range": [0, 101]})]
    if run.has("depleted"):
        panels.append(Panel("empty", [overtime.line(run, time_s, empty, "devices without charge", EMPTY)], 0.8, WHOLE))
    time_s, shares = _levels(run)
    if shares.size:
        own = overtime.line(run, time_s, 100 * shares, "level in %", OWN, len(shares))
        own |= {"mode": "lines+markers", "marker": {"size": 3}, "line": {"color": OWN, "width": 1}}
        panels.append(Panel("of each [%]", [own], 1.4, {"range": [0, 101]}))
    return overtime.figure(run, panels)


def _levels(run: Run) -> tuple[Floats, Floats]:
    """Times [n], and levels by the capacity, of an even pick; a gap (NaN) behind each device.

    Folders of earlier versions do not have the capacity: by the highest level that was seen of the device.
    """
    devices, capacity_j = run.devices, run.devices["battery_capacity_j"]
    known = np.flatnonzero(np.isfinite(devices["battery_j"]))
    names = np.unique(devices["device"][known])
    ends_s = devices["start_s"] + sum(np.nan_to_num(devices[phase.column]) for phase in TIME_PHASES[:3])
    times, levels = [], []
    for name in names[even(len(names), MOST_DEVICES)]:
        rows = known[devices["device"][known] == name]
        rows = rows[even(len(rows), MOST_LEVELS)]
        times += [*ends_s[rows], np.nan]
        levels_j = devices["battery_j"][rows]
        full_j = np.where(np.isfinite(capacity_j[rows]), capacity_j[rows], levels_j.max() or 1.0)
        levels += [*(levels_j / full_j), np.nan]
    return np.array(times), np.array(levels)


def caption(run: Run) -> str:
    """What the panels are, in one line."""
    count = len(np.unique(run.devices["device"][np.isfinite(run.devices["battery_j"])]))
    empty = ", how many were empty" if run.has("depleted") else ""
    known = np.isfinite(run.devices["battery_capacity_j"]).any()
    base = ", in % of the capacity" if known else ", by its highest level then"
    some = f"{MOST_DEVICES} of {count:,} devices" if count > MOST_DEVICES else "each device"
    return f"Mean over all devices{empty}, and {some} when its parts ended{base}."
