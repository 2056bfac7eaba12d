"""Who holds what: a heat map of labels and devices, with the devices' sizes above it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import digits, quantity, short
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.style import MUTED, Figure, Shown, even

MOST_DEVICES, MOST_LABELS = 300, 100
FEW = 30  # are all written at the axis
SCALE = [[0, "#dbe9f4"], [0.25, "#a3cae3"], [0.5, "#56a0ce"], [0.75, "#1f6aa8"], [1, "#0b2f5c"]]
BARS = "#9fb3c4"
HEAD, ROW, LEAST, HIGHEST = 150, 24, 300, 620  # pixels: all but the map, a label, the whole figure


def groups(shown: Sequence[Shown]) -> list[tuple[ColumnArrays, list[Shown]]]:
    """Holdings, that is columns device, label and samples, each with the runs that have them."""
    found: list[tuple[ColumnArrays, list[Shown]]] = []
    for one in shown:
        mine = one.run.labels
        if mine is None or not mine["device"].size:
            continue
        same = next(
            (runs for table, runs in found if all(np.array_equal(table[name], mine[name]) for name in mine)), None
        )
        if same is None:
            found.append((mine, [one]))
        else:
            same.append(one)
    return found


def figure(table: ColumnArrays) -> Figure:
    """Samples of each label (row) at each device (column): blank where there are none; above it the sum of a column."""
    labels, devices, samples = grid(table)
    heat = {
        "type": "heatmap",
        "name": "samples",
        "x": short(devices, 9),
        "y": short(labels, 9),
        "z": [short(row, 9) for row in np.where(samples > 0, samples, np.nan)],
        "zmin": 0,
        "colorscale": SCALE,
        "colorbar": _bar(),
        "hoverongaps": False,
        "hovertemplate": "device %{x}, label %{y}: %{z:,} samples<extra></extra>",
    }
    bars = {
        "type": "bar",
        "name": "all labels",
        "x": heat["x"],
        "y": short(_sizes(table)[devices.astype(np.intp)], 9),
        "yaxis": "y2",
        "marker": {"color": BARS, "line": {"width": 0}},
        "hovertemplate": "device %{x}: %{y:,} samples<extra></extra>",
    }
    return {"data": [heat, bars], "layout": _layout(labels, devices)}


def grid(table: ColumnArrays) -> tuple[Floats, Floats, Floats]:
    """Labels [L], devices [D] and samples [L, D]; of very many an even pick."""
    labels, devices = _some(table["label"], MOST_LABELS), _some(table["device"], MOST_DEVICES)
    rows = np.isin(table["label"], labels) & np.isin(table["device"], devices)
    samples = np.zeros((len(labels), len(devices)))
    place = np.searchsorted(labels, table["label"][rows]), np.searchsorted(devices, table["device"][rows])
    samples[place] = table["samples"][rows]
    return labels, devices, samples


def _some(values: Floats, most: int) -> Floats:
    names = np.unique(values)
    return np.asarray(names[even(len(names), most)])


def _sizes(table: ColumnArrays) -> Floats:
    """Samples of each device, by its number."""
    return np.asarray(np.bincount(table["device"].astype(np.intp), table["samples"]), np.float64)


def caption(table: ColumnArrays) -> str:
    """How many devices hold how much of how many labels, and of how many of both the map shows, in one line."""
    devices, labels_each = np.unique(table["device"], return_counts=True)
    sizes = _sizes(table)[devices.astype(np.intp)]
    few, many = quantity(sizes.min()), quantity(sizes.max())
    each = f"{few} samples each" if few == many else f"{few} to {many} samples"
    labels = len(np.unique(table["label"]))
    picks = [(len(devices), MOST_DEVICES, "devices"), (labels, MOST_LABELS, "labels")]
    left_out = [f"{most} of the {what}" for count, most, what in picks if count > most]
    drawn = f"; {' and '.join(left_out)} are drawn" if left_out else ""
    mean = digits(float(labels_each.mean()))
    return (
        f"{len(devices):,} devices hold {each}, of {mean} of the {labels:,} labels on average{drawn}. Bars: all labels."
    )


def height(figure: Figure) -> int:
    """Pixels that the figure needs."""
    return int(np.clip(HEAD + ROW * len(figure["data"][0]["y"]), LEAST, HIGHEST))


def _bar() -> Figure:
    title = {"text": "samples", "side": "right", "font": {"color": MUTED, "size": 13}}
    look = {"thickness": 12, "outlinewidth": 0, "tickfont": {"color": MUTED}, "x": 1.01}
    return look | {"title": title, "len": 0.8, "y": 0, "yanchor": "bottom"}


def _ticks(values: Floats) -> Figure:
    return {"tickmode": "array", "tickvals": short(values, 9)} if len(values) <= FEW else {}


def _layout(labels: Floats, devices: Floats) -> Figure:
    """The map below, the bars above; both share the devices' axis."""
    return {
        "xaxis": {"title": {"text": "device"}, "anchor": "y", "showline": False, **_ticks(devices)},
        "yaxis": {
            "title": {"text": "label"},
            "domain": [0, 0.8],
            "autorange": "reversed",
            "showgrid": False,
            **_ticks(labels),
        },
        "yaxis2": {"domain": [0.84, 1], "nticks": 3, "rangemode": "tozero", "title": {"text": ""}},
        "bargap": 0.15 if len(devices) <= 150 else 0,
        "margin": {"r": 8},
    }
