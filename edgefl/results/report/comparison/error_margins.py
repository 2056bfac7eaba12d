"""Margins of error of differences between runs: what the errors of laws, which runs share, and their seeds leave open.

A law that is wrong makes all runs slower or faster together, so that a difference is better known than each side of it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.streams import Streams
from edgefl.core.units import percent
from edgefl.results.report.shared.describe import at, known
from edgefl.results.report.shared.read import Run
from edgefl.results.report.why import decomposition
from edgefl.results.report.why.sentences import Side
from edgefl.world.devices_section import Devices
from edgefl.world.error_draws import COVERAGE, DRAWS, ErrorDraws, interval
from edgefl.world.held_out import LinkErrors

NARROWEST = 5e-4  # margin that is told: errors that both sides share may cancel
TITLE = f"Margins of error ({percent(COVERAGE)}, by the errors of laws on held-out numbers, and by seeds)"


class DrawnTotals(NamedTuple):
    """Time and energy since the beginning, in each draw."""

    time_s: Floats  # [rounds, draws]
    energy_j: Floats  # as above


def drawn(run: Run) -> DrawnTotals | None:
    """Return the totals of a run in each draw of its laws' errors; None where none was measured."""
    devices = known(Devices, at(run.scenario, "devices"))
    about = run.summary.get("held_out")
    if devices is None or not isinstance(about, dict) or not run.devices:
        return None
    link = known(LinkErrors, at(run.scenario, "radio.held_out"))
    deadline_s = at(run.scenario, "server.deadline_s") or np.inf
    draws = ErrorDraws(devices, link, about["network"], about["order"], deadline_s)
    rows = np.argsort(run.devices["row"], kind="stable")
    ends = np.searchsorted(run.devices["row"][rows], np.arange(1, run.length))
    found = []
    for round_rows, until_s, duration_s in zip(
        np.split(rows, ends), run.rounds["time_s"], run.rounds["duration_s"], strict=True
    ):
        of_round = {name: cells[round_rows] for name, cells in run.devices.items()}
        found.append(draws.of_round(duration_s, until_s - duration_s, of_round))
    time_s, energy_j = (np.cumsum(totals, axis=0) for totals in zip(*found, strict=True))
    return DrawnTotals(time_s, energy_j)


def sentences(sides: Sequence[Side], accuracies: Sequence[float]) -> list[str]:
    """Return how much more or less time and energy each side takes than the first, with margins of error.

    They hold for the highest accuracy that all runs reached, or else for whole runs; none for runs without error bars,
    or where the errors of both sides cancel.
    """
    totals = [[drawn(run) for run in side.runs] for side in sides]
    if any(of_run is None for of_side in totals for of_run in of_side):
        return []
    goal = "in all"
    rounds = [[run.length for run in side.runs] for side in sides]
    for accuracy in sorted(accuracies):
        until = [[decomposition.rounds_to(run, accuracy) or 0 for run in side.runs] for side in sides]
        if all(count for of_side in until for count in of_side):
            goal = f"to {percent(accuracy)}"
            rounds = until
    found = []
    for quantity in DrawnTotals._fields:
        reference, *others = [
            _means([getattr(of_run, quantity)[count - 1] for of_run, count in zip(of_side, until, strict=True)])
            for of_side, until in zip(totals, rounds, strict=True)
        ]
        for side, own in zip(sides[1:], others, strict=True):
            ratios = own / reference
            if np.ptp(ratios) > NARROWEST:
                found.append(_sentence(side, sides[0], ratios, f"{quantity.partition('_')[0]} {goal}"))
    return found


def _means(totals: Sequence[Floats]) -> Floats:
    """Return the mean over seeds of totals [draws]; each draw takes as many of the seeds, with repeats."""
    seeds = len(totals)
    chosen = (Streams(0).uniform("held_out", np.arange(DRAWS), 0, seeds) * seeds).astype(np.int64)
    return np.asarray(np.take_along_axis(np.transpose(totals), chosen, axis=1).mean(axis=1))


def _sentence(side: Side, reference: Side, ratios: Floats, what: str) -> str:
    low, high = interval(ratios)
    middle = float(np.median(ratios))
    told = f"{side.name} takes {_more(middle)} {what} than {reference.name} ({_more(low)} to {_more(high)})"
    if low <= 1 <= high:
        return f"{told}: less than the model may be wrong by."
    return f"{told}."


def _more(ratio: float) -> str:
    return f"{percent(abs(ratio - 1))} {'more' if ratio >= 1 else 'less'}"
