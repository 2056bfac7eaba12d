"""Batteries: how full they were in the mean, how many were empty, and each device's own level."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.results.report import groups, overtime
from edgefl.results.report.overtime import Panel
from edgefl.results.report.population import WHOLE
from edgefl.results.report.read import Run
from edgefl.results.report.style import TIME_PHASES, Figure, even

FULL, EMPTY = "#1c2733", "#d55e00"
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
    if own := list(_each(run)):
        panels.append(Panel("of each [%]", own, 1.8, {"range": [0, 101]}))
    return overtime.figure(run, panels)


def _each(run: Run) -> Iterator[Figure]:
    """Levels of an even pick of devices when their parts ended, in the colour of their group."""
    owned = np.unique(run.devices["device"][np.isfinite(run.devices["battery_j"])])
    some, every = owned[even(len(owned), MOST_DEVICES)], groups.hardware(run)
    place = groups.place(every, some)
    for turn, group in enumerate(every or [groups.Group("", 0, 0, groups.COLOURS[0])]):
        mine = [_level(run, name) for name in some[place == turn]]
        if mine:
            time_s, shares = np.concatenate(mine, axis=1)
            named = f"{group.name}: level in %" if group.name else "level in %"
            own = overtime.line(run, time_s, 100 * shares, named, group.colour, len(shares))
            look = {"line": {"color": group.colour, "width": 1}, "marker": {"size": 4, "color": group.colour}}
            yield own | look | {"mode": "lines+markers", "opacity": 0.5}


def _level(run: Run, device: float) -> Floats:
    """Times and levels [2, n] of a device by its capacity; a gap (NaN) where it was charged meanwhile, and at the end.

    Folders of earlier versions do not have the capacity: by the highest level that was seen of it.
    """
    devices = run.devices
    rows = np.flatnonzero((devices["device"] == device) & np.isfinite(devices["battery_j"]))
    rows = rows[even(len(rows), MOST_LEVELS)]
    ends_s = devices["start_s"][rows] + sum(np.nan_to_num(devices[phase.column][rows]) for phase in TIME_PHASES[:3])
    levels_j, capacity_j = devices["battery_j"][rows], devices["battery_capacity_j"][rows]
    shares = levels_j / np.where(np.isfinite(capacity_j), capacity_j, levels_j.max() or 1.0)
    gaps = [*(np.flatnonzero(np.diff(shares) > 0) + 1), len(rows)]
    return np.insert(np.stack([ends_s, shares]), gaps, np.nan, axis=1)


def caption(run: Run) -> str:
    """What the panels are, in one line."""
    count = len(np.unique(run.devices["device"][np.isfinite(run.devices["battery_j"])]))
    empty = ", how many were empty" if run.has("depleted") else ""
    known = np.isfinite(run.devices["battery_capacity_j"]).any()
    base = ", in % of the capacity" if known else ", by its highest level then"
    some = f"{MOST_DEVICES} of {count:,} devices" if count > MOST_DEVICES else "each device"
    return (
        f"Mean over all devices{empty}, and {some} when its parts ended{base}; a line ends where it has been charged."
    )
