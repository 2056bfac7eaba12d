"""The population over time: devices that are present, arrivals and departures, handovers."""

from __future__ import annotations

import numpy as np

from edgefl.core.units import quantity
from edgefl.results.report import overtime
from edgefl.results.report.overtime import Panel
from edgefl.results.report.read import Run
from edgefl.results.report.style import Figure

PRESENT = "#0072b2"
ARRIVED = "#009e73"
DEPARTED = "#d55e00"
HANDED_OVER = "#6b5b95"
WHOLE = {"tickformat": ",d", "nticks": 4}  # an axis of counts: no ticks between whole numbers


def figure(run: Run) -> Figure | None:
    """Return the devices present when each round began, above those that arrived and departed during it.

    None where the population never changed.
    """
    present = run.rounds["present"]
    has_churn = run.has("arrivals") or run.has("departures")
    # The number also changes without churn where groups of devices take turns from session to session.
    sizes = np.unique(present[np.isfinite(present)])
    if not has_churn and len(sizes) < 2:
        return None
    line = overtime.line(run, overtime.begins_s(run), present, "devices present", PRESENT)
    panels = [Panel("devices present", [line], 2.0, {"rangemode": "tozero"})]
    if has_churn:
        arrivals = overtime.bars(run, run.rounds["arrivals"], "arrivals", ARRIVED)
        # Downwards, so that both can be read against the same zero.
        departures = overtime.bars(run, -run.rounds["departures"], "departures", DEPARTED)
        panels.append(Panel("came +, left −", [arrivals, departures], 1.0, WHOLE))
    return overtime.figure(run, panels)


def caption(run: Run) -> str:
    """Return a line on how many devices were present, arrived and departed."""
    present = run.rounds["present"]
    arrivals = run.rounds["arrivals"]
    departures = run.rounds["departures"]
    changes = ""
    if arrivals.any():
        changes = f"; {quantity(np.nansum(arrivals))} arrivals, {quantity(np.nansum(departures))} departures"
    return f"{quantity(np.nanmin(present))} to {quantity(np.nanmax(present))} devices when a round began{changes}."


def handovers(run: Run) -> Figure | None:
    """Return the handovers in each round; None where there were none."""
    if not run.has("handovers"):
        return None
    bars = overtime.bars(run, run.rounds["handovers"], "handovers", HANDED_OVER)
    return overtime.figure(run, [Panel("handovers in a round", [bars], 1.0, WHOLE | {"rangemode": "tozero"})])


def handovers_caption(run: Run) -> str:
    """Return a line on how many handovers there were."""
    return f"{quantity(np.nansum(run.rounds['handovers']))} from one base station to another."
