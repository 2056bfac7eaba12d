"""Where a round's time and energy go: means over the participants, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import PLAIN, Unit, fitting, short, top
from edgefl.results.report import views
from edgefl.results.report.read import Run
from edgefl.results.report.style import Figure, Phase

MOST_BARS = 150


def present(runs: Sequence[Run], phases: Sequence[Phase]) -> list[Phase]:
    """The phases that are more than nothing in any run."""
    return [phase for phase in phases if any(totals(run, [phase])[0] > 0 for run in runs)]


def totals(run: Run, phases: Sequence[Phase]) -> Floats:
    """The sum over all devices and rounds of every phase."""
    return np.array([np.nansum(run.devices[phase.column]) for phase in phases])


def per_round(run: Run, phases: Sequence[Phase]) -> Floats:
    """[phase, round]: the mean over the round's participants; 0 in a round without any."""
    rows, count = run.devices["row"], len(run.rounds["round"])
    participants = np.maximum(np.bincount(rows, minlength=count), 1)
    sums = [np.bincount(rows, np.nan_to_num(run.devices[phase.column]), count) for phase in phases]
    return np.array(sums) / participants


def highest(runs: Sequence[Run], phases: Sequence[Phase]) -> float:
    """The highest stack that any of the runs draws: charts side by side share their scale."""
    return top([_binned(per_round(run, phases).sum(axis=0)) for run in runs])


def figure(run: Run, phases: Sequence[Phase], units: Sequence[Unit], ceiling: float) -> Figure:
    """Stacked bars, one a round; a long run has one for several rounds, with their mean."""
    means, unit = per_round(run, phases), fitting(ceiling, units)
    number = run.rounds["number"]
    width = _width(len(number))
    first, last = (
        number[::width],
        number[np.minimum(np.arange(width - 1, len(number) + width - 1, width), len(number) - 1)],
    )
    names = [f"round {a:.0f}" if a == b else f"rounds {a:.0f}–{b:.0f}" for a, b in zip(first, last, strict=True)]
    data = [
        {
            "type": "bar",
            "name": phase.name,
            "x": short((first + last) / 2, 9),
            "y": short(_binned(values) / unit.size, 4),
            "marker": {"color": phase.colour, "line": {"width": 0}},
            "hovertext": names,
            "hovertemplate": f"%{{hovertext}}: {phase.name} %{{y:.3~g}} {unit.name}<extra></extra>",
        }
        for phase, values in zip(phases, means, strict=True)
    ]
    layout = {
        "barmode": "stack",
        "bargap": 0.25 if len(first) <= 40 else 0.0,
        "xaxis": {"title": {"text": "round"}, "range": [number[0] - 0.5, number[-1] + 0.5]},
        "shapes": views.borders(run, "number", PLAIN[0], 0.5),
        "yaxis": {"title": {"text": f"mean per device [{unit.name}]"}, "range": [0, 1.05 * ceiling / unit.size or 1]},
    }
    return {"data": data, "layout": layout}


def _width(rounds: int) -> int:
    """Rounds a bar."""
    return max(1, -(-rounds // MOST_BARS))


def _binned(values: Floats) -> Floats:
    """Means of neighbouring rounds, as many as share a bar."""
    starts = np.arange(0, len(values), _width(len(values)))
    if not starts.size:
        return values
    return np.asarray(np.add.reduceat(values, starts) / np.diff([*starts, len(values)]))
