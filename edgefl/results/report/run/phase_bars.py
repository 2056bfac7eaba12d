"""Time and energy by phase: stacked bars of each round's means, bars split by share, and times of participations."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import ENERGY, PLAIN, TIME, Unit, fitting, quantity, short, top
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.shared import views
from edgefl.results.report.shared.card import Card, Coloured, ShareBar, Slice
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import ENERGY_PHASES, TIME_PHASES, Figure, Phase, StyledRun, bar_gap, bar_trace

MOST_ROUND_BARS = 150
MOST_SPACED_ROUNDS = 40  # of more bars the gaps would be all that is seen
LEAST_LABELLED = 0.07  # of the page's width: a number does not fit into a narrower slice


def time_card(run: Run, runs: Sequence[Run]) -> Card:
    """Return the card of time by round, on the same scale as that of the other runs."""
    phases = time_phases(runs)
    highest_s = highest(runs, phases)
    return Card("time", "Time by round", figure(run, phases, TIME, highest_s))


def energy_card(run: Run, runs: Sequence[Run]) -> Card | None:
    """Return the card of energy by round, on the same scale as that of the other runs; None if none has spent any."""
    phases = present_phases(runs, ENERGY_PHASES)
    if not phases:
        return None
    highest_j = highest(runs, phases)
    return Card("energy", "Energy by round", figure(run, phases, ENERGY, highest_j))


def present_phases(runs: Sequence[Run], phases: Sequence[Phase]) -> list[Phase]:
    """Return the phases that are not zero in at least one run.

    A phase that costs nothing in any run, such as idling without batteries, is left out of stacks and keys.
    """
    return [phase for phase in phases if any(totals(run, [phase])[0] > 0 for run in runs)]


def time_phases(runs: Sequence[Run]) -> list[Phase]:
    """Return the phases of time, without optional ones that are zero in all runs."""
    kept = present_phases(runs, TIME_PHASES)
    return [phase for phase in TIME_PHASES if phase in kept or not phase.optional]


def totals(run: Run, phases: Sequence[Phase]) -> Floats:
    """Return the sums [phase] over all devices and rounds, reports on channels included."""
    return np.array([np.nansum(run.devices[phase.column]) for phase in phases])


def totals_of_participations(run: Run, phases: Sequence[Phase]) -> Floats:
    """Return the sums [phase] over all participations and evaluations."""
    tables = (run.participations, run.evaluations)
    return np.array([sum(np.nansum(table[phase.column]) for table in tables) for phase in phases])


def per_round(run: Run, phases: Sequence[Phase]) -> Floats:
    """Return means over each round's participants [phase, round], and over its evaluations; 0 where there are none."""
    return _means(run.participations, run.length, phases) + _means(run.evaluations, run.length, phases)


def _means(table: ColumnArrays, rounds: int, phases: Sequence[Phase]) -> Floats:
    rows = table["row"]
    count = np.maximum(np.bincount(rows, minlength=rounds), 1)
    sums = [np.bincount(rows, np.nan_to_num(table[phase.column]), rounds) for phase in phases]
    return np.array(sums) / count


def highest(runs: Sequence[Run], phases: Sequence[Phase]) -> float:
    """Return the height of the highest stack that any of the runs draws: charts side by side share their scale."""
    return top([_bar_means(per_round(run, phases).sum(axis=0)) for run in runs])


def figure(run: Run, phases: Sequence[Phase], units: Sequence[Unit], highest_value: float) -> Figure:
    """Return stacked bars, one for each round; in a long run several rounds share a bar, which is their mean."""
    unit = fitting(highest_value, units)  # charts side by side have the same unit, too
    number = run.rounds["number"]
    rounds_per_bar = _rounds_per_bar(len(number))
    first = np.arange(0, len(number), rounds_per_bar)
    last = np.minimum(first + rounds_per_bar, len(number)) - 1
    middle = (number[first] + number[last]) / 2
    names = []
    for first_number, last_number in zip(number[first], number[last], strict=True):
        if first_number == last_number:
            names.append(f"round {first_number:.0f}")
        else:
            names.append(f"rounds {first_number:.0f}–{last_number:.0f}")

    data = []
    for phase, values in zip(phases, per_round(run, phases), strict=True):
        heights = short(_bar_means(values) / unit.size, 4)
        hover = f"%{{hovertext}}: {phase.name} %{{y:.3~g}} {unit.name}"
        data.append(bar_trace(phase.name, phase.colour, short(middle, 9), heights, hover, hovertext=names))
    ceiling = 1.05 * highest_value / unit.size or 1  # an axis from 0 to 0 is none
    layout = {
        "barmode": "stack",
        "bargap": bar_gap(len(first), MOST_SPACED_ROUNDS, 0.25),
        "xaxis": {"title": {"text": "round"}, "range": [number[0] - 0.5, number[-1] + 0.5]},
        # Bars stand on whole numbers, so a session ends half a round behind its last one.
        "shapes": views.marks_of(run, "number", PLAIN[0], 0.5),
        "yaxis": {"title": {"text": f"mean per device [{unit.name}]"}, "range": [0, ceiling]},
    }
    return {"data": data, "layout": layout}


def _rounds_per_bar(rounds: int) -> int:
    return max(1, -(-rounds // MOST_ROUND_BARS))  # rounded up


def _bar_means(values: Floats) -> Floats:
    """Return the means over the rounds that share a bar, from values of rounds [n]."""
    starts = np.arange(0, len(values), _rounds_per_bar(len(values)))
    if not starts.size:
        return values
    rounds = np.diff([*starts, len(values)])
    return np.asarray(np.add.reduceat(values, starts) / rounds)


# Single participations


def durations_s(run: Run, rows: Rows) -> Floats:
    """Return how long each phase of participations [rows] took [phase, n]; 0 for a phase that never began."""
    return np.array([np.nan_to_num(run.devices[phase.column][rows]) for phase in TIME_PHASES])


def starts_s(run: Run, rows: Rows, phases_s: Floats) -> Floats:
    """Return when participations [rows] began; one without a start ends with its round, after its phases [phase, n]."""
    start_s = run.devices["start_s"][rows]
    round_end_s = run.rounds["time_s"][run.devices["row"][rows]]
    return np.where(np.isfinite(start_s), start_s, round_end_s - phases_s.sum(axis=0))


# Bars split by share


def share_bars(runs: Sequence[StyledRun], phases: Sequence[Phase], units: Sequence[Unit]) -> list[ShareBar]:
    """Return a bar for each run, split by phase; the longer bar belongs to the run with the larger mean."""
    sums = [totals_of_participations(run.data, phases) for run in runs]
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
