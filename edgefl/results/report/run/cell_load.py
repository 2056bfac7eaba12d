"""The load of the cells: the part of their bands in use over time, and the bits that they carried."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import BIT_RATE, BYTES, fitting, quantity, score, top
from edgefl.results.participation import capacity
from edgefl.results.report.shared import describe, time_charts
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import RADIO_DOWN, RADIO_UP, Figure, KeyEntry
from edgefl.results.report.shared.time_charts import Panel
from edgefl.results.report.why import critical_path
from edgefl.results.report.why.critical_path import Participations

KEY = (KeyEntry("downloads", RADIO_DOWN), KeyEntry("uploads", RADIO_UP))
WAYS = ("down", "up")
FROM_ZERO = {"rangemode": "tozero"}
MOST_POINTS = 60  # of a run without rounds
LEAST_PARTICIPATIONS = 4.0  # of median length that such a point lasts at least: the load within each is not known
MOST_ROUNDS = 300  # more of them share points


class Periods(NamedTuple):
    """The points of the chart: their ends [points], and for how much of each the bands were in use, with the bits."""

    ends_s: Floats
    lasted_s: Floats
    band_s: dict[str, Floats]  # by direction
    bits: dict[str, Floats]


def card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of the load; None where it is not known how much of the band transfers occupy."""
    if run.sum("load_up") is None or not run.total("time_s"):
        return None
    title = "Load of the cells"
    if _cells(run) == 1:
        title = "Load of the cell"
    return Card("cell-load", title, figure(run), caption(run), KEY)


def figure(run: Run) -> Figure:
    """Return the part of the band in use, and below it the bits that were carried, over time."""
    parts = critical_path.participations(run)
    periods = _by_rounds(run)
    if critical_path.overlaps(parts):
        periods = _in_time(run, parts)
    middle_s = periods.ends_s - periods.lasted_s / 2
    lasted_s = np.where(periods.lasted_s > 0, periods.lasted_s, np.nan)
    rates = {way: periods.bits[way] / lasted_s for way in WAYS}
    unit = fitting(top(list(rates.values())), BIT_RATE)
    busy = []
    carried = []
    for way, entry in zip(WAYS, KEY, strict=True):
        in_use = 100 * periods.band_s[way] / lasted_s
        busy.append(time_charts.line(run, middle_s, in_use, f"{entry.name}, % of the band", entry.colour))
        rate = rates[way] / unit.size
        carried.append(time_charts.line(run, middle_s, rate, f"{entry.name}, {unit.name}", entry.colour))
    panels = [Panel("band in use [%]", busy, 1.3, FROM_ZERO), Panel(f"carried [{unit.name}]", carried, 1.0, FROM_ZERO)]
    return time_charts.figure(run, panels)


def caption(run: Run) -> str:
    """Return the load of the whole run, of its cells, and the bytes by device, in a few sentences."""
    time_s = run.rounds["duration_s"].sum()
    in_use = {way: _band_s(run, way) / time_s for way in WAYS}
    bits = {way: 8 * run.rounds[f"bytes_{way}"].sum() for way in WAYS}
    rates = {way: quantity(bits[way] / time_s, BIT_RATE) for way in bits}
    text = f"On average {score(in_use['down'])} of the downlink's band and {score(in_use['up'])} of the uplink's"
    text += f" were in use{_of_cells(run, time_s)}, and carried {rates['down']} down and {rates['up']} up."
    text += f" {capacity(run.rounds, _cells(run))}"
    devices = len(np.unique(run.devices["device"]))
    by_device = {way: quantity(bits[way] / 8 / devices, BYTES) for way in bits}
    text += f" A device that took part received {by_device['down']} and sent {by_device['up']} on average."
    if describe.kind(run.scenario, "radio.background") not in {"", "none"}:
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


def _by_rounds(run: Run) -> Periods:
    """Return one point for each round; in a long run neighbouring rounds share one."""
    rounds = run.rounds
    first = np.arange(0, run.length, -(-run.length // MOST_ROUNDS))
    last = np.append(first[1:], run.length) - 1

    def sums(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(np.nan_to_num(values), first))

    return Periods(
        rounds["time_s"][last],
        sums(rounds["duration_s"]),
        {way: sums(rounds[f"load_{way}"] * rounds["duration_s"]) for way in WAYS},
        {way: 8 * sums(rounds[f"bytes_{way}"]) for way in WAYS},
    )


def _in_time(run: Run, parts: Participations) -> Periods:
    """Return points of equal length of a run whose participations go on from one round to the next.

    What a round's transfers have occupied is divided among them by their durations, and spread over these.
    """
    devices = run.devices
    end_s = float(run.rounds["time_s"][-1])
    least_s = LEAST_PARTICIPATIONS * float(np.median(parts.busy_s))
    points = int(np.clip(end_s / least_s, 1, MOST_POINTS)) if least_s > 0 else 1
    edges_s = np.linspace(0.0, end_s, points + 1)
    began_s = np.nan_to_num(devices["start_s"]) + devices["setup_s"]
    seconds = {way: np.nan_to_num(devices[f"{name}_s"]) for way, name in zip(WAYS, ("download", "upload"), strict=True)}
    begins_s = {"down": began_s, "up": began_s + seconds["down"] + np.nan_to_num(devices["compute_s"])}
    band_s = {}
    bits = {}
    for way in WAYS:
        of_round_s = np.nan_to_num(run.rounds[f"load_{way}"]) * run.rounds["duration_s"]
        in_round_s = np.bincount(devices["row"], seconds[way], run.length)
        occupancy = np.divide(of_round_s, in_round_s, out=np.zeros(run.length), where=in_round_s > 0)
        occupied_s = seconds[way] * occupancy[devices["row"]]
        band_s[way] = _spread(occupied_s, begins_s[way], seconds[way], edges_s)
        bits[way] = _spread(8 * devices[f"bytes_{way}"], begins_s[way], seconds[way], edges_s)
    return Periods(edges_s[1:], np.diff(edges_s), band_s, bits)


def _spread(amounts: Floats, begins_s: Floats, seconds: Floats, edges_s: Floats) -> Floats:
    """Return the sums [points] between edges [points + 1] of amounts [n] that are spread over some seconds each."""
    lengths_s = np.maximum(seconds, 1e-9)
    so_far = [(amounts * np.clip((edge_s - begins_s) / lengths_s, 0.0, 1.0)).sum() for edge_s in edges_s.tolist()]
    so_far[-1] = amounts.sum()
    return np.diff(so_far)
