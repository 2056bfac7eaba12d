"""Handovers in each round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefl.core.units import quantity
from edgefl.results.report.shared import time_charts
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import Figure
from edgefl.results.report.shared.time_charts import COUNT_AXIS, Panel

HANDOVER_COLOUR = "#6b5b95"


def card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of the handovers; None for a run without any."""
    chart = figure(run)
    if chart is None:
        return None
    return Card("handovers", "Handovers", chart, caption(run))


def figure(run: Run) -> Figure | None:
    """Return a bar of handovers for each round; None for a run without any."""
    if not run.has("handovers"):
        return None
    bars = time_charts.bars(run, run.rounds["handovers"], "handovers", HANDOVER_COLOUR)
    axis = COUNT_AXIS | {"rangemode": "tozero"}  # counts never go below 0, and bars are compared by length
    return time_charts.figure(run, [Panel("handovers in a round", [bars], 1.0, axis)])


def caption(run: Run) -> str:
    """Return how many handovers there were, in one line."""
    return f"{quantity(np.nansum(run.rounds['handovers']))} from one base station to another."
