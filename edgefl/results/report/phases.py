"""Time and energy by phase: means over the participants, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import PLAIN, Unit, fitting, short, top
from edgefl.results.report import views
from edgefl.results.report.overtime import MOST_BARS, rounds_per_bar
from edgefl.results.report.read import Run
from edgefl.results.report.style import Figure, Phase

MOST_SPACED_BARS = 40  # more stand side by side without gaps
HEADROOM = 1.05  # of the highest stack


def present(runs: Sequence[Run], phases: Sequence[Phase]) -> list[Phase]:
    """Return the phases that took anything at all in any of the runs."""
    return [phase for phase in phases if any(totals(run, [phase])[0] > 0 for run in runs)]


def totals(run: Run, phases: Sequence[Phase]) -> Floats:
    """Return the sum over all devices and rounds of each phase [phase]."""
    return np.array([np.nansum(run.devices[phase.column]) for phase in phases])


def per_round(run: Run, phases: Sequence[Phase]) -> Floats:
    """Return the means over each round's participants [phase, round]; 0 in a round without any.

    A phase that a participant never reached is empty in ``devices.csv`` and counts as 0.
    """
    rows = run.devices["row"]
    rounds = len(run.rounds["round"])
    participants = np.maximum(np.bincount(rows, minlength=rounds), 1)
    sums = [np.bincount(rows, np.nan_to_num(run.devices[phase.column]), rounds) for phase in phases]
    return np.array(sums) / participants


def highest(runs: Sequence[Run], phases: Sequence[Phase]) -> float:
    """Return the highest stack that any of the runs draws, so that charts side by side can share their scale."""
    return top([_bar_means(per_round(run, phases).sum(axis=0)) for run in runs])


def figure(run: Run, phases: Sequence[Phase], units: Sequence[Unit], ceiling: float) -> Figure:
    """Return stacked bars, one a round; neighbouring rounds of a long run share a bar, which has their mean.

    Args:
        run: the run.
        phases: the parts of a stack, from bottom to top.
        units: of time or of energy.
        ceiling: the highest stack of all charts that share the scale, in base units.
    """
    # The ceiling decides the unit too: charts side by side have the same.
    unit = fitting(ceiling, units)
    number = run.rounds["number"]
    per_bar = rounds_per_bar(len(number), MOST_BARS)
    last_rows = np.arange(per_bar - 1, len(number) + per_bar - 1, per_bar)
    first = number[::per_bar]
    last = number[np.minimum(last_rows, len(number) - 1)]  # the last bar may have fewer rounds
    names = [_bar_name(begin, end) for begin, end in zip(first, last, strict=True)]
    data = []
    for phase, means in zip(phases, per_round(run, phases), strict=True):
        trace = {
            "type": "bar",
            "name": phase.name,
            "x": short((first + last) / 2, 9),
            "y": short(_bar_means(means) / unit.size, 4),
            "marker": {"color": phase.colour, "line": {"width": 0}},
            "hovertext": names,
            "hovertemplate": f"%{{hovertext}}: {phase.name} %{{y:.3~g}} {unit.name}<extra></extra>",
        }
        data.append(trace)
    gap = 0.0
    if len(first) <= MOST_SPACED_BARS:
        gap = 0.25
    layout = {
        "barmode": "stack",
        "bargap": gap,
        "xaxis": {"title": {"text": "round"}, "range": [number[0] - 0.5, number[-1] + 0.5]},
        # A bar is centred at its round: the border to the next one is half a round further.
        "shapes": views.borders(run, "number", PLAIN[0], 0.5),
        "yaxis": {
            "title": {"text": f"mean per device [{unit.name}]"},
            "range": [0, HEADROOM * ceiling / unit.size or 1],  # an axis from 0 to 0 is none
        },
    }
    return {"data": data, "layout": layout}


def _bar_name(first: float, last: float) -> str:
    if first == last:
        return f"round {first:.0f}"
    return f"rounds {first:.0f}–{last:.0f}"


def _bar_means(values: Floats) -> Floats:
    """Return the means of the neighbouring rounds that share a bar."""
    first = np.arange(0, len(values), rounds_per_bar(len(values), MOST_BARS))
    if not first.size:
        return values
    rounds = np.diff([*first, len(values)])
    return np.asarray(np.add.reduceat(values, first) / rounds)
