"""What devices have spent: each of them, and in vain."""

from __future__ import annotations

import numpy as np

from edgefl.report import overtime, phases
from edgefl.report.overtime import Panel
from edgefl.report.read import Run
from edgefl.report.style import ENERGY_PHASES, RUN_COLOURS, Figure, Phase, even
from edgefl.units import ENERGY, Floats, digits, fitting, quantity, short, top

RECEIVED, POLLED = "received", "polled"
WORDS = {POLLED: "polled, not chosen"}  # how a part ended, in words; else as it is written
USED = "#c9d5df"
MOST_DEVICES = 150


def by_device(run: Run) -> Figure:
    """A stacked bar for each device, from the one that spent most to the one that spent least."""
    spent = phases.present([run], ENERGY_PHASES)
    names, each = _each(run, spent)
    rows = even(len(names), MOST_DEVICES)
    unit = fitting(top([each.sum(axis=0)]), ENERGY)
    data = [
        {
            "type": "bar",
            "name": phase.name,
            "x": (rows + 1).tolist(),
            "y": short(np.asarray(values[rows] / unit.size)),
            "customdata": short(names[rows], 9),
            "marker": {"color": phase.colour, "line": {"width": 0}},
            "hovertemplate": f"device %{{customdata}}: {phase.name} %{{y:.3~g}} {unit.name}<extra></extra>",
        }
        for phase, values in zip(spent, each, strict=True)
    ]
    axes = {
        "xaxis": {"title": {"text": "devices, by what they spent"}},
        "yaxis": {"title": {"text": f"energy [{unit.name}]"}},
    }
    return {"data": data, "layout": axes | {"barmode": "stack", "bargap": 0.15 if len(rows) <= 60 else 0}}


def _each(run: Run, parts: list[Phase]) -> tuple[Floats, Floats]:
    """Devices [n] and their energies [phase, n], largest sums first."""
    names, place = np.unique(run.devices["device"], return_inverse=True)
    each = np.array([np.bincount(place, np.nan_to_num(run.devices[phase.column]), len(names)) for phase in parts])
    order = np.argsort(-each.sum(axis=0), kind="stable")
    return np.asarray(names[order], np.float64), np.asarray(each[:, order], np.float64)


def by_device_caption(run: Run) -> str:
    """How unequal they are, in one line."""
    _, each = _each(run, list(ENERGY_PHASES))
    sums = each.sum(axis=0)
    tenth = max(1, round(len(sums) / 10))
    share = digits(100 * float(sums[:tenth].sum() / (sums.sum() or 1.0)), 0)
    who = "one device" if tenth == 1 else f"{tenth:,} devices"
    return f"{len(sums):,} devices took part; {who} of them spent {share} % of {quantity(sums.sum(), ENERGY)}."


def wasted(run: Run) -> dict[str, Floats]:
    """Energy in each round [rounds] of parts that brought no update, by how they ended; the dearest first."""
    spent = np.sum([np.nan_to_num(run.devices[phase.column]) for phase in ENERGY_PHASES], axis=0)
    status, row = run.devices["status"], run.devices["row"]
    found = {
        str(end): np.asarray(np.bincount(row[status == end], spent[status == end], run.length), np.float64)
        for end in np.unique(status)
        if end != RECEIVED
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1].sum(), item[0])))


def told(cause: str) -> str:
    """How a part ended, in words."""
    return WORDS.get(cause, cause.replace("_", " "))


def causes(run: Run) -> tuple[list[Phase], Floats]:
    """Used energy and that of each cause of waste, as the slices of a bar."""
    lost = {cause: float(values.sum()) for cause, values in wasted(run).items()}
    all_j = float(phases.totals(run, ENERGY_PHASES).sum())
    slices = [Phase("", told(cause), _colour(place)) for place, cause in enumerate(lost)]
    return [Phase("", "used", USED), *slices], np.array([all_j - sum(lost.values()), *lost.values()])


def wasted_caption(run: Run) -> str:
    """What each cause of waste has cost, in one line."""
    slices, sums = causes(run)
    lost = [f"{part.name} {quantity(value, ENERGY)}" for part, value in zip(slices[1:], sums[1:].tolist(), strict=True)]
    return f"{quantity(sums[1:].sum(), ENERGY)} of {quantity(sums.sum(), ENERGY)}: {', '.join(lost)}."


def wasted_figure(run: Run) -> Figure | None:
    """Energy spent in vain in each round, by cause. None where there was none."""
    lost = wasted(run)
    if not sum(values.sum() for values in lost.values()):
        return None
    unit = fitting(top([np.sum(list(lost.values()), axis=0)]), ENERGY)
    traces = [
        overtime.bars(run, values / unit.size, told(cause), _colour(place), unit.name)
        for place, (cause, values) in enumerate(lost.items())
    ]
    return overtime.figure(run, [Panel(f"energy in vain [{unit.name}]", traces)])


def _colour(place: int) -> str:
    return RUN_COLOURS[1 + place % (len(RUN_COLOURS) - 1)]
