"""Energy by device: how unequally devices spend it."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import ENERGY, digits, fitting, quantity, short, top
from edgefl.results.report.run import device_groups, phase_bars
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import (
    ENERGY_PHASES,
    Figure,
    Phase,
    bar_gap,
    bar_trace,
    count_axis,
    even_pick,
    plotly_text,
)
from edgefl.results.report.shared.tables import counted

MOST_BARS = 150
MOST_SPACED_DEVICES = 60
RANK_TICKS = 6


def card(run: Run, runs: Sequence[Run]) -> Card | None:
    """Return the card of the energy by device; None if the run has spent none."""
    if not phase_bars.present_phases([run], ENERGY_PHASES):
        return None
    phases = phase_bars.present_phases(runs, ENERGY_PHASES)
    return Card("each", "Energy by device", figure(run), caption(run), phases)


def figure(run: Run) -> Figure:
    """Return a stacked bar for each device, from the one that spent most to the one that spent least."""
    phases = phase_bars.present_phases([run], ENERGY_PHASES)
    devices, energies_j = _ranked_devices(run, phases)
    # Of many devices an even pick keeps the shape of the curve, from the largest sum to the smallest.
    count = len(devices)
    rows = even_pick(count, MOST_BARS)
    ranks = (rows + 1).tolist()  # among all devices, also those that are not drawn
    unit = fitting(top([energies_j.sum(axis=0)]), ENERGY)
    hover_values = list(zip(short(devices[rows], 9), ranks, _group_names(run, devices[rows]), strict=True))
    hover_device = f"device %{{customdata[0]}}%{{customdata[2]}}, %{{customdata[1]:,}} of {count:,}"

    data = []
    places = list(range(1, len(rows) + 1))
    for phase, energy_j in zip(phases, energies_j, strict=True):
        heights = short(np.asarray(energy_j[rows] / unit.size))
        hover = f"{hover_device}: {phase.name} %{{y:.3~g}} {unit.name}"
        data.append(bar_trace(phase.name, phase.colour, places, heights, hover, customdata=hover_values))
    layout = {
        "xaxis": {"title": {"text": "devices, by what they spent"}} | _rank_ticks(rows, count),
        "yaxis": {"title": {"text": f"energy [{unit.name}]"}},
        "barmode": "stack",
        "bargap": bar_gap(len(rows), MOST_SPACED_DEVICES, 0.15),
    }
    return {"data": data, "layout": layout}


def _group_names(run: Run, devices: Floats) -> list[str]:
    """Return the name of each device's group [n] in brackets; empty texts where charts tell no groups apart."""
    groups = device_groups.charted_groups(run)
    if not groups:
        return [""] * len(devices)
    group_of = device_groups.group_of_devices(groups, devices)
    return [f" ({plotly_text(groups[index].name)})" for index in group_of]


def _rank_ticks(rows: Rows, count: int) -> Figure:
    """Return the ticks of an axis whose bars are an even pick of ``count`` devices: their ranks among all.

    The bars stand side by side, so their positions are not their ranks.
    """
    if len(rows) == count:
        return count_axis([count], RANK_TICKS)
    positions = even_pick(len(rows), RANK_TICKS)
    ranks = (rows[positions] + 1).tolist()
    return {"tickvals": (positions + 1).tolist(), "ticktext": [f"{rank:,}" for rank in ranks]}


def _ranked_devices(run: Run, phases: Sequence[Phase]) -> tuple[Floats, Floats]:
    """Return devices [n] and their energies [phase, n] in J, largest sums first."""
    tables = (run.participations, run.evaluations)
    devices, row_of = np.unique(np.concatenate([table["device"] for table in tables]), return_inverse=True)
    sums = []
    for phase in phases:
        values_j = np.concatenate([table[phase.column] for table in tables])
        sums.append(np.bincount(row_of, np.nan_to_num(values_j), len(devices)))
    energies_j = np.array(sums)
    # A stable order keeps devices that spent the same in the order of their numbers.
    order = np.argsort(-energies_j.sum(axis=0), kind="stable")
    return np.asarray(devices[order], np.float64), np.asarray(energies_j[:, order], np.float64)


def caption(run: Run) -> str:
    """Return how unequally the devices spent energy, in one line: the share of the tenth that spent most."""
    _, energies_j = _ranked_devices(run, ENERGY_PHASES)
    sums_j = energies_j.sum(axis=0)
    total_j = sums_j.sum()
    text = f"{len(sums_j):,} devices took part"
    if len(sums_j) > MOST_BARS:
        text += f" ({MOST_BARS} of them drawn)"
    tenth = max(1, round(len(sums_j) / 10))
    # The share of the tenth that spent most: 10 % where all spend the same.
    share = digits(100 * float(sums_j[:tenth].sum() / (total_j or 1.0)), 0)
    return f"{text}; {counted(tenth, 'device')} of them spent {share} % of {quantity(total_j, ENERGY)}."
