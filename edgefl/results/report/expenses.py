"""What devices have spent: each of them, and in vain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgefl.core.arrays import Floats
from edgefl.core.units import ENERGY, digits, fitting, quantity, short, top
from edgefl.results.report import describe, groups, overtime, phases
from edgefl.results.report.overtime import Panel
from edgefl.results.report.read import Run
from edgefl.results.report.style import ENERGY_PHASES, RUN_COLOURS, Figure, Phase, even, safe

RECEIVED, POLLED, DEPARTED, EMPTY = "received", "polled", "departed", "battery_empty"
WORDS = {POLLED: "polled, not chosen"}  # how a part ended, in words; else as it is written
USED = "#c9d5df"
SAME_LEVEL = 1e-9  # of a level: batteries closer than this to their reserve are empty
MOST_DEVICES, TICKS = 150, 6


def by_device(run: Run) -> Figure:
    """A stacked bar for each device, from the one that spent most to the one that spent least."""
    spent = phases.present([run], ENERGY_PHASES)
    names, each = _each(run, spent)
    rows = even(len(names), MOST_DEVICES)
    unit, kinds = fitting(top([each.sum(axis=0)]), ENERGY), _kinds(run, names[rows])
    of = f"%{{customdata[1]:,}} of {len(names):,}"
    data = [
        {
            "type": "bar",
            "name": phase.name,
            "x": list(range(1, len(rows) + 1)),
            "y": short(np.asarray(values[rows] / unit.size)),
            "customdata": list(zip(short(names[rows], 9), (rows + 1).tolist(), kinds, strict=True)),
            "marker": {"color": phase.colour, "line": {"width": 0}},
            "hovertemplate": f"device %{{customdata[0]}}%{{customdata[2]}}, {of}: {phase.name} %{{y:.3~g}} {unit.name}"
            "<extra></extra>",
        }
        for phase, values in zip(spent, each, strict=True)
    ]
    axes = {
        "xaxis": {"title": {"text": "devices, by what they spent"}} | _ranks(rows, len(names)),
        "yaxis": {"title": {"text": f"energy [{unit.name}]"}},
    }
    return {"data": data, "layout": axes | {"barmode": "stack", "bargap": 0.15 if len(rows) <= 60 else 0}}


def _kinds(run: Run, devices: Floats) -> list[str]:
    """To which group each device [n] belongs, in brackets; nothing where there are none."""
    every = groups.shown(run)
    names = [f" ({safe(every[place].name)})" for place in groups.place(every, devices)] if every else []
    return names or [""] * len(devices)


def _ranks(rows: NDArray[np.intp], count: int) -> Figure:
    """What the axis says below bars side by side that are an even pick of ``count``: their ranks among all."""
    if len(rows) == count:
        return {}
    places = even(len(rows), TICKS)
    return {"tickvals": (places + 1).tolist(), "ticktext": [f"{rank:,}" for rank in (rows[places] + 1).tolist()]}


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
    some = f" ({MOST_DEVICES} of them drawn)" if len(sums) > MOST_DEVICES else ""
    share = digits(100 * float(sums[:tenth].sum() / (sums.sum() or 1.0)), 0)
    who = "one device" if tenth == 1 else f"{tenth:,} devices"
    return f"{len(sums):,} devices took part{some}; {who} of them spent {share} % of {quantity(sums.sum(), ENERGY)}."


def wasted(run: Run) -> dict[str, Floats]:
    """Energy in each round [rounds] of parts that brought no update, by how they ended; the dearest first."""
    spent = np.sum([np.nan_to_num(run.devices[phase.column]) for phase in ENERGY_PHASES], axis=0)
    status, row = ends(run), run.devices["row"]
    found = {
        str(end): np.asarray(np.bincount(row[status == end], spent[status == end], run.length), np.float64)
        for end in np.unique(status)
        if end != RECEIVED
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1].sum(), item[0])))


def ends(run: Run) -> NDArray[np.str_]:
    """How each part [n] ended: its status, or that its device left as its battery had run out."""
    devices, status = run.devices, run.devices["status"]
    reserves = [group.reserve for group in groups.hardware(run)]
    low_j = devices["battery_capacity_j"] * (1 + SAME_LEVEL)
    if reserves:
        low_j = low_j * np.array(reserves)[groups.place(groups.hardware(run), devices["device"])]
    stay = describe.kind(run.scenario, "churn") in {"", "none"}  # then there is no other reason to leave
    out = np.isfinite(devices["battery_j"]) & (stay | (devices["battery_j"] <= low_j))
    return np.where(out & (status == DEPARTED), EMPTY, status)


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
