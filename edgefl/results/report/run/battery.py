"""Batteries over time: their mean level, how many are empty, and the levels of single devices."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.results.report.run import device_groups
from edgefl.results.report.run.device_groups import ChartedGroup
from edgefl.results.report.shared import time_charts
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import TIME_PHASES, Figure, count_axis, even_pick
from edgefl.results.report.shared.time_charts import Panel

MEAN_COLOUR = "#1c2733"
EMPTY_COLOUR = "#d55e00"
MOST_BATTERIES = 40
MOST_LEVELS = 60  # of each device
PERCENT_AXIS = {"range": [0, 101]}  # a line at 100 % is not cut
NEARLY_FULL = 0.9
FEW_TICKS = 4  # of a low panel
BATTERY_HEIGHT = 460  # pixels, for up to three panels


def card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of the batteries; None for devices without any, and for batteries that all stay nearly full."""
    chart = figure(run)
    if chart is None or _stay_full(run):
        return None
    key = device_groups.named_groups(run)
    return Card("battery", "Batteries", chart, caption(run), key, height=BATTERY_HEIGHT)


def _stay_full(run: Run) -> bool:
    """Return whether every known level is so high that the chart would be a straight line."""
    devices = run.devices
    levels = [*run.rounds["battery"], *(devices["battery_j"] / devices["battery_capacity_j"])]
    return not run.has("depleted") and bool(np.nanmin(levels) >= NEARLY_FULL)


def figure(run: Run) -> Figure | None:
    """Return mean level, devices without charge, and levels of single devices; None for devices without batteries."""
    time_s = run.rounds["time_s"]
    mean_level = run.rounds["battery"]
    if not np.isfinite(mean_level).any():
        return None
    mean = time_charts.line(run, time_s, 100 * mean_level, "mean level in %", MEAN_COLOUR)
    panels = [Panel("mean level [%]", [mean], 1.4, PERCENT_AXIS)]
    if run.has("depleted"):
        empty = time_charts.line(run, time_s, run.rounds["depleted"], "devices without charge", EMPTY_COLOUR)
        panels.append(Panel("empty", [empty], 0.8, count_axis(empty["y"], FEW_TICKS)))
    single_devices = _lines_of_groups(run)
    if single_devices:
        panels.append(Panel("of each [%]", single_devices, 1.8, PERCENT_AXIS))
    return time_charts.figure(run, panels)


def _lines_of_groups(run: Run) -> list[Figure]:
    devices = _devices_with_battery(run)
    devices = devices[even_pick(len(devices), MOST_BATTERIES)]
    groups = device_groups.hardware(run)
    group_of = device_groups.group_of_devices(groups, devices)
    if not groups:  # a scenario of another version
        groups = [ChartedGroup("", 0, 0, device_groups.GROUP_COLOURS[0])]
    traces = []
    for index, group in enumerate(groups):
        levels = [_levels(run, device) for device in devices[group_of == index]]
        if levels:
            traces.append(_group_line(run, group, np.concatenate(levels, axis=1)))
    return traces


def _group_line(run: Run, group: ChartedGroup, times_and_levels: Floats) -> Figure:
    time_s, levels = times_and_levels
    name = "level in %"
    if group.name:
        name = f"{group.name}: {name}"
    trace = time_charts.line(run, time_s, 100 * levels, name, group.colour, most=len(levels))
    trace["line"] = {"color": group.colour, "width": 1}
    trace["marker"] = {"size": 4, "color": group.colour}
    trace["mode"] = "lines+markers"
    trace["opacity"] = 0.5  # so that overlapping lines remain visible
    return trace


def _levels(run: Run, device: float) -> Floats:
    """Return times [s] and levels, as a share of the capacity [2, n], of a device whenever a participation ended.

    A gap (NaN) stands at the end, and where the battery was charged in between, at an unknown time.
    """
    devices = run.devices
    rows = np.flatnonzero((devices["device"] == device) & np.isfinite(devices["battery_j"]))
    rows = rows[even_pick(len(rows), MOST_LEVELS)]  # so that the page stays small
    levels_j = devices["battery_j"][rows]
    capacity_j = devices["battery_capacity_j"][rows]
    levels = levels_j / capacity_j
    charged = np.flatnonzero(np.diff(levels) > 0) + 1
    gaps = [*charged, len(rows)]
    return np.insert(np.stack([_work_ends_s(run, rows), levels]), gaps, np.nan, axis=1)


def _work_ends_s(run: Run, rows: Rows) -> Floats:
    """Return the times at which participations [rows] ended, without the wait for the end of the round."""
    devices = run.devices
    working_phases = TIME_PHASES[:-1]
    return np.asarray(
        devices["start_s"][rows] + sum(np.nan_to_num(devices[phase.column][rows]) for phase in working_phases)
    )


def _devices_with_battery(run: Run) -> Floats:
    has_level = np.isfinite(run.devices["battery_j"])
    return np.unique(run.devices["device"][has_level])


def caption(run: Run) -> str:
    """Return what the panels show, in one line."""
    text = "Mean over all devices, "
    if run.has("depleted"):
        text += "how many were empty, "
    count = len(_devices_with_battery(run))
    if count > MOST_BATTERIES:
        text += f"and {MOST_BATTERIES} of {count:,} devices at the end of each participation"
    else:
        text += "and each device at the end of each participation"
    return f"{text}, in % of the capacity; a line is broken where the battery was charged."
