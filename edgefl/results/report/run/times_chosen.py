"""Participation by device: how often each was chosen, and how old its update was."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Ints
from edgefl.core.units import digits, short
from edgefl.results import participation
from edgefl.results.participation import Participation
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import RUN_COLOURS, Figure, bar_trace, count_axis

MOST_TICKS = 12
MOST_BARS = 60  # of different times chosen; more are put together


def card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of how often devices took part; None if all did equally often."""
    if run.length < 2:
        return None
    found = of_run(run)
    if found is None or len(np.unique(found.times)) < 2:
        return None
    return Card("chosen", "How often devices took part", figure(found.times), caption(found))


def of_run(run: Run) -> Participation | None:
    """Return how the participations of a run were spread; None where the folder does not say how many devices are."""
    count = describe.at(run.scenario, "devices.count")
    if type(count) is not int or count < 1:  # not bool, which is an int to isinstance
        return None
    devices = run.devices
    if devices["device"].size and devices["device"].max() >= count:
        return None
    round_of = devices["row"].astype(np.int64) + 1
    device = devices["device"].astype(np.int64)
    return participation.participation(round_of, device, devices["status"], count, run.length)


def figure(times: Ints) -> Figure:
    """Return how many devices took part how many times, as bars."""
    most = int(times.max())
    width = -(-(most + 1) // MOST_BARS)  # times that one bar stands for
    counts = np.bincount(times // width)
    edges = np.arange(len(counts), dtype=np.float64) * width
    names = [f"{first:.0f}" if width == 1 else f"{first:.0f} to {first + width - 1:.0f}" for first in edges]
    places = short(np.asarray(edges + (width - 1) / 2))
    hover = "%{y:,} devices took part %{customdata} times"
    trace = bar_trace("devices", RUN_COLOURS[0], places, counts.tolist(), hover, customdata=names)
    layout = {
        "xaxis": {"title": {"text": "times a device took part"}} | count_axis(times, MOST_TICKS),
        "yaxis": {"title": {"text": "devices"}} | count_axis(counts),
        "bargap": 0.1,
    }
    return {"data": [trace], "layout": layout}


def caption(found: Participation) -> str:
    """Return how evenly devices took part, in one line."""
    times = found.times
    never = int((times == 0).sum())
    text = f"{int(times.min()):,} to {int(times.max()):,} times, {digits(float(times.mean()), 1)} on average"
    if never:
        text += f"; {never:,} of {len(times):,} devices never"
    text += f". Jain's index {digits(found.jain_index, 3)} (1: all equally often)"
    return f"{text}; an update was {digits(found.mean_age, 1)} rounds old on average."
