"""Who was there: the population over time, arrivals and departures, handovers."""

from __future__ import annotations

import numpy as np

from edgefl.core.units import quantity
from edgefl.results.report import overtime
from edgefl.results.report.overtime import Panel
from edgefl.results.report.read import Run
from edgefl.results.report.style import Figure

THERE, CAME, LEFT, HANDED = "#0072b2", "#009e73", "#d55e00", "#6b5b95"
WHOLE = {"tickformat": ",d", "nticks": 4}


def figure(run: Run) -> Figure | None:
    """Devices there when a round began; below, those that have come and gone during it. None where nothing changed."""
    there = run.rounds["present"]
    moving = run.has("arrivals") or run.has("departures")
    if not moving and len(np.unique(there[np.isfinite(there)])) < 2:
        return None
    line = overtime.line(run, overtime.begins_s(run), there, "devices there", THERE)
    panels = [Panel("devices there", [line], 2.0, {"rangemode": "tozero"})]
    if moving:
        came = overtime.bars(run, run.rounds["arrivals"], "arrivals", CAME)
        left = overtime.bars(run, -run.rounds["departures"], "departures", LEFT)
        panels.append(Panel("came +, left −", [came, left], 1.0, WHOLE))
    return overtime.figure(run, panels)


def caption(run: Run) -> str:
    """How many were there, came and left, in one line."""
    there, came, left = (run.rounds[name] for name in ("present", "arrivals", "departures"))
    changes = f"; {quantity(np.nansum(came))} arrivals, {quantity(np.nansum(left))} departures" if came.any() else ""
    return f"{quantity(np.nanmin(there))} to {quantity(np.nanmax(there))} devices when a round began{changes}."


def handovers(run: Run) -> Figure | None:
    """Handovers by round. None where there were none."""
    if not run.has("handovers"):
        return None
    bars = overtime.bars(run, run.rounds["handovers"], "handovers", HANDED)
    return overtime.figure(run, [Panel("handovers in a round", [bars], 1.0, WHOLE | {"rangemode": "tozero"})])


def handovers_caption(run: Run) -> str:
    """How many there were, in one line."""
    return f"{quantity(np.nansum(run.rounds['handovers']))} from one base station to another."
