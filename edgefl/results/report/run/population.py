"""The population over time: devices that are present, arrivals, departures, and handovers."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.units import quantity
from edgefl.results.report.shared import time_charts
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import Figure, count_axis
from edgefl.results.report.shared.time_charts import Panel

MOST_TICKS = 6
FEW_TICKS = 4  # of a low panel
PRESENT_COLOUR = "#0072b2"
ARRIVALS_COLOUR = "#009e73"
DEPARTURES_COLOUR = "#d55e00"
HANDOVER_COLOUR = "#6b5b95"


def card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of the population; None for a population that never changes."""
    chart = figure(run)
    if chart is None:
        return None
    return Card("population", "Population", chart, caption(run))


def figure(run: Run) -> Figure | None:
    """Return devices present when a round began and, below, arrivals and departures during it.

    None for a population that never changes.
    """
    present = run.rounds["present"]
    comes_and_goes = run.has("arrivals") or run.has("departures")
    # The number also changes without churn where groups of devices take turns from session to session.
    levels = np.unique(present[np.isfinite(present)])
    if not comes_and_goes and len(levels) < 2:
        return None
    line = time_charts.line(run, time_charts.begins_s(run), present, "devices present", PRESENT_COLOUR)
    panels = [Panel("devices present", [line], 2.0, count_axis(levels, MOST_TICKS) | {"rangemode": "tozero"})]
    if comes_and_goes:
        arrivals = time_charts.bars(run, run.rounds["arrivals"], "arrivals", ARRIVALS_COLOUR)
        # Departures point downwards, so that both can be read against the same zero.
        departures = time_charts.bars(run, -run.rounds["departures"], "departures", DEPARTURES_COLOUR)
        axis = count_axis([*arrivals["y"], *departures["y"]], FEW_TICKS)
        panels.append(Panel("arrived +, left −", [arrivals, departures], 1.0, axis))
    return time_charts.figure(run, panels)


def caption(run: Run) -> str:
    """Return how many devices were present, arrived and left, in one line."""
    present = run.rounds["present"]
    arrivals = run.rounds["arrivals"]
    departures = run.rounds["departures"]
    text = f"{quantity(np.nanmin(present))} to {quantity(np.nanmax(present))} devices when a round began"
    if arrivals.any():
        text += f"; {quantity(np.nansum(arrivals))} arrivals, {quantity(np.nansum(departures))} departures"
    return f"{text}."


def handovers_card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of the handovers in each round; None for a run without any."""
    if not run.has("handovers"):
        return None
    handovers = run.rounds["handovers"]
    bars = time_charts.bars(run, handovers, "handovers", HANDOVER_COLOUR)
    axis = count_axis(bars["y"]) | {"rangemode": "tozero"}  # counts never go below 0, and bars are compared by length
    chart = time_charts.figure(run, [Panel("handovers in a round", [bars], 1.0, axis)])
    return Card("handovers", "Handovers", chart, f"{quantity(np.nansum(handovers))} from one base station to another.")
