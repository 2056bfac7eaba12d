"""Horizontal bars split by share, such as time by phase."""

from __future__ import annotations

from collections.abc import Sequence

from edgefl.core.arrays import Floats
from edgefl.core.units import Unit, quantity
from edgefl.results.report.run import phase_bars
from edgefl.results.report.shared.card import Coloured, ShareBar, Slice
from edgefl.results.report.shared.style import Phase, StyledRun

LEAST_LABELLED = 0.07  # of the page's width: a number does not fit into a narrower slice


def share_bars(runs: Sequence[StyledRun], phases: Sequence[Phase], units: Sequence[Unit]) -> list[ShareBar]:
    """Return a bar for each run, split by phase; the longer bar belongs to the run with the larger mean."""
    sums = [phase_bars.totals_of_participations(run.data, phases) for run in runs]
    means = []
    for run, run_sums in zip(runs, sums, strict=True):
        participations = max(1, run.data.participations["row"].size)
        means.append(float(run_sums.sum()) / participations)
    longest = max(means) or 1.0

    bars = []
    for run, run_sums, mean in zip(runs, sums, means, strict=True):
        width = mean / longest  # lengths compare the runs, shares compare the phases
        text = f"{quantity(mean, units)} per device and round"
        named = run if len(runs) > 1 else None
        bars.append(ShareBar(slices(phases, run_sums, width), width, text, named))
    return bars


def slices(entries: Sequence[Coloured], sums: Floats, width: float = 1.0) -> list[Slice]:
    """Return the parts of a bar of ``width`` (0 to 1) of the page, from values [n] in the order of the entries."""
    shares = sums / (sums.sum() or 1.0)
    parts = []
    for entry, share in zip(entries, shares.tolist(), strict=True):
        number = ""
        if share * width > LEAST_LABELLED:
            number = f"{100 * share:.0f} %"
        parts.append(Slice(entry.name, entry.colour, share, number))
    return parts
