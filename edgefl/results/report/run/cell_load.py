"""The load of the cells: the part of their bands in use over time, and the bits that they carried."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Rows
from edgefl.core.units import BIT_RATE, BYTES, fitting, quantity, score, top
from edgefl.results.report.shared import describe, time_charts
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import RADIO_DOWN, RADIO_UP, Figure, KeyEntry
from edgefl.results.report.shared.time_charts import Panel
from edgefl.results.report.why import critical_path

KEY = (KeyEntry("downloads", RADIO_DOWN), KeyEntry("uploads", RADIO_UP))
PERCENT_AXIS = {"rangemode": "tozero"}
LEAST_PARTICIPATIONS = 4.0  # of median length that a point of a run without rounds lasts at least
MOST_POINTS = 300


def card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of the load; None where it is not known how much of the band transfers occupy."""
    if run.sum("load_up") is None or not run.total("time_s"):
        return None
    title = "Load of the cell" if _cells(run) == 1 else "Load of the cells"
    return Card("cell-load", title, figure(run), caption(run), KEY)


def figure(run: Run) -> Figure:
    """Return the part of the band in use, and below it the bits that were carried, over time."""
    rounds = run.rounds
    first = _periods(run)
    lasted_s = np.add.reduceat(rounds["duration_s"], first)
    ends_s = rounds["time_s"][np.append(first[1:], run.length) - 1]
    middle_s = ends_s - lasted_s / 2
    lasted_s = np.where(lasted_s > 0, lasted_s, np.nan)
    busy = []
    rates = {}
    for way, entry in zip(("down", "up"), KEY, strict=True):
        band_s = np.nan_to_num(rounds[f"load_{way}"]) * rounds["duration_s"]
        share = np.add.reduceat(band_s, first) / lasted_s
        rates[entry] = 8 * np.add.reduceat(rounds[f"bytes_{way}"], first) / lasted_s
        busy.append(time_charts.line(run, middle_s, 100 * share, f"{entry.name}, % of the band", entry.colour))
    unit = fitting(top(list(rates.values())), BIT_RATE)
    carried = [
        time_charts.line(run, middle_s, rate / unit.size, f"{entry.name}, {unit.name}", entry.colour)
        for entry, rate in rates.items()
    ]
    panels = [
        Panel("band in use [%]", busy, 1.3, PERCENT_AXIS),
        Panel(f"carried [{unit.name}]", carried, 1.0, PERCENT_AXIS),
    ]
    return time_charts.figure(run, panels)


def caption(run: Run) -> str:
    """Return the load of the whole run, of its cells, and the bytes by device, in a few sentences."""
    time_s = run.rounds["duration_s"].sum()
    in_use = {way: _band_s(run, way) / time_s for way in ("down", "up")}
    bits = {way: 8 * run.rounds[f"bytes_{way}"].sum() for way in ("down", "up")}
    rates = {way: quantity(bits[way] / time_s, BIT_RATE) for way in bits}
    text = f"On average {score(in_use['down'])} of the downlink's band and {score(in_use['up'])} of the uplink's"
    text += f" were in use{_of_cells(run, time_s)}, and carried {rates['down']} down and {rates['up']} up."
    devices = len(np.unique(run.devices["device"]))
    by_device = {way: quantity(bits[way] / 8 / devices, BYTES) for way in bits}
    text += f" A device that took part received {by_device['down']} and sent {by_device['up']} on average."
    if describe.kind(run.scenario, "cells.background") not in {"", "none"}:
        text += " The band and the traffic of other users are not included."
    return text


def _of_cells(run: Run, time_s: float) -> str:
    """Return the range of the cells' uplinks; an empty text for a single cell."""
    cells = _cells(run)
    if cells == 1 or run.cell_load is None:
        return ""
    load = run.cell_load
    row_of = {key: row for row, key in enumerate(zip(run.rounds["session"], run.rounds["round"], strict=True))}
    keys = zip(load["session"], load["round"], strict=True)
    duration_s = run.rounds["duration_s"][[row_of[key] for key in keys]]
    cell = load["cell"].astype(np.int64)
    uplink = np.bincount(cell, load["load_up"] * duration_s, cells) / time_s
    least = int(uplink.argmin())
    most = int(uplink.argmax())
    return f" (uplinks from {score(uplink[least])} of cell {least} to {score(uplink[most])} of cell {most})"


def _cells(run: Run) -> int:
    sites = describe.at(run.scenario, "cells.sites")
    sectors = describe.at(run.scenario, "cells.sectors")
    return int(sites or 1) * int(sectors or 1)


def _band_s(run: Run, way: str) -> float:
    return float(np.nansum(run.rounds[f"load_{way}"] * run.rounds["duration_s"]))


def _periods(run: Run) -> Rows:
    """Return the first round of each point of the chart.

    Where participations go on from one round to the next, all of their transfers count in the last of these rounds, so
    a point is the mean over several.
    """
    parts = critical_path.participations(run)
    least_s = float(run.rounds["time_s"][-1]) / MOST_POINTS
    if parts.row.size and critical_path.overlaps(parts):
        least_s = max(least_s, LEAST_PARTICIPATIONS * float(np.median(parts.busy_s)))
    first = [0]
    since_s = 0.0
    for row, end_s in enumerate(run.rounds["time_s"][:-1].tolist(), 1):
        if end_s - since_s >= least_s:
            first.append(row)
            since_s = end_s
    return np.array(first)
