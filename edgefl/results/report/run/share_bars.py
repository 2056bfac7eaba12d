"""Horizontal bars split by share, such as time by phase, and the key to their colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from edgefl.core.arrays import Floats
from edgefl.core.units import Unit, quantity
from edgefl.results.report.run import phase_bars
from edgefl.results.report.run.device_groups import ChartedGroup
from edgefl.results.report.shared.style import KeyEntry, Phase, StyledRun, on_page, text_on
from edgefl.results.report.shared.tables import swatch

LEAST_LABELLED = 0.07  # of the page's width: a number does not fit into a narrower slice


def share_bars(runs: Sequence[StyledRun], phases: Sequence[Phase], units: Sequence[Unit]) -> str:
    """Return a bar for each run, split by phase; the longer bar belongs to the run with the larger mean."""
    sums = [phase_bars.totals_of_participations(run.data, phases) for run in runs]
    means = []
    for run, run_sums in zip(runs, sums, strict=True):
        participations = max(1, run.data.participations["row"].size)
        means.append(float(run_sums.sum()) / participations)
    longest = max(means) or 1.0

    rows = []
    for run, run_sums, mean in zip(runs, sums, means, strict=True):
        name = ""
        if len(runs) > 1:
            name = f"<span>{swatch(run)}</span>"
        text = f"{quantity(mean, units)} per device and round"
        bar = _bar(phases, run_sums, mean / longest)  # lengths compare the runs, shares compare the phases
        rows.append(f'<div class="share"><div>{name}<span class="mean">{escape(text)}</span></div>{bar}</div>')
    return colour_key(phases) + "".join(rows)


def single_bar(entries: Sequence[KeyEntry], sums: Floats) -> str:
    """Return one bar over the whole width, split by share, with the key to its colours."""
    return f'{colour_key(entries)}<div class="share">{_bar(entries, sums, 1.0)}</div>'


def colour_key(entries: Sequence[KeyEntry | Phase | ChartedGroup]) -> str:
    """Return the key to the colours of a chart; an empty text where nothing is coloured."""
    if not entries:
        return ""
    marks = ""
    for entry in entries:
        marks += f'<span><i class="dot" style="background:{on_page(entry.colour)}"></i>{escape(entry.name)}</span>'
    return f'<div class="key">{marks}</div>'


def _bar(entries: Sequence[KeyEntry | Phase], sums: Floats, width: float) -> str:
    """Return a bar of ``width`` (0 to 1) of the page."""
    shares = sums / (sums.sum() or 1.0)
    slices = []
    for entry, share in zip(entries, shares.tolist(), strict=True):
        number = ""
        if share * width > LEAST_LABELLED:
            number = f"{100 * share:.0f} %"
        style = f"width:{share:.2%};background:{on_page(entry.colour)};color:{text_on(entry.colour)}"
        slices.append(f'<span title="{escape(entry.name)} {share:.1%}" style="{style}">{number}</span>')
    return f'<div class="bar" style="width:{width:.2%}">{"".join(slices)}</div>'
