"""The labels that each device holds: a heat map of labels and devices, with the devices' sizes above it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import digits, quantity, short
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.style import MUTED, Figure, Shown, even

MOST_DEVICES = 300
MOST_LABELS = 100
MOST_TICKS = 30  # up to here every device and every label has its number at the axis
MOST_SPACED_BARS = 150  # beyond that gaps would leave nothing of the bars
ALL_FIGURES = 9  # digits of device numbers and counts, which are never rounded
SCALE = [[0, "#dbe9f4"], [0.25, "#a3cae3"], [0.5, "#56a0ce"], [0.75, "#1f6aa8"], [1, "#0b2f5c"]]
BARS = "#9fb3c4"
# Heights in pixels: of everything but the map, of a label's row, and of the whole figure
HEAD = 150
ROW = 24
LEAST = 300
HIGHEST = 620


def groups(shown: Sequence[Shown]) -> list[tuple[ColumnArrays, list[Shown]]]:
    """Return the different tables of holdings (columns device, label and samples), each with the runs that have it.

    Runs of one seed mostly divide the data alike, and one map then serves them all.
    """
    found: list[tuple[ColumnArrays, list[Shown]]] = []
    for one in shown:
        table = one.run.labels
        if table is None or not table["device"].size:
            continue
        for other, runs in found:
            if _equal(table, other):
                runs.append(one)
                break
        else:
            found.append((table, [one]))
    return found


def _equal(table: ColumnArrays, other: ColumnArrays) -> bool:
    return all(np.array_equal(other[name], table[name]) for name in table)


def figure(table: ColumnArrays) -> Figure:
    """Return a heat map of the samples of each label (row) at each device (column), below bars of all labels' samples.

    A cell is blank where a device has no sample of a label, so that none and a few look different.
    """
    labels, devices, samples = grid(table)
    filled = np.where(samples > 0, samples, np.nan)
    # Bars count all labels, also those that the map leaves out.
    sizes = _sizes(table)[devices.astype(np.intp)]
    device_names = short(devices, ALL_FIGURES)
    heat = {
        "type": "heatmap",
        "name": "samples",
        "x": device_names,
        "y": short(labels, ALL_FIGURES),
        "z": [short(row, ALL_FIGURES) for row in filled],
        "zmin": 0,
        "colorscale": SCALE,
        "colorbar": _colour_bar(),
        "hoverongaps": False,
        "hovertemplate": "device %{x}, label %{y}: %{z:,} samples<extra></extra>",
    }
    bars = {
        "type": "bar",
        "name": "all labels",
        "x": device_names,
        "y": short(sizes, ALL_FIGURES),
        "yaxis": "y2",
        "marker": {"color": BARS, "line": {"width": 0}},
        "hovertemplate": "device %{x}: %{y:,} samples<extra></extra>",
    }
    return {"data": [heat, bars], "layout": _layout(labels, devices)}


def grid(table: ColumnArrays) -> tuple[Floats, Floats, Floats]:
    """Return labels [L], devices [D] and samples [L, D]; of very many labels or devices an even pick."""
    labels = _picked(table["label"], MOST_LABELS)
    devices = _picked(table["device"], MOST_DEVICES)
    # The table has a row for each pair that has samples; a pair without a row stays 0.
    drawn = np.isin(table["label"], labels) & np.isin(table["device"], devices)
    rows = np.searchsorted(labels, table["label"][drawn])
    columns = np.searchsorted(devices, table["device"][drawn])
    samples = np.zeros((len(labels), len(devices)))
    samples[rows, columns] = table["samples"][drawn]
    return labels, devices, samples


def _picked(values: Floats, most: int) -> Floats:
    """Return the different values in order, or an even pick of ``most`` of them."""
    distinct = np.unique(values)
    return np.asarray(distinct[even(len(distinct), most)])


def _sizes(table: ColumnArrays) -> Floats:
    """Return the samples of all labels at each device [highest number + 1]."""
    return np.asarray(np.bincount(table["device"].astype(np.intp), table["samples"]), np.float64)


def caption(table: ColumnArrays) -> str:
    """Return a line on how many devices hold how much of how many labels, and how many of both the map shows."""
    devices, labels_of_device = np.unique(table["device"], return_counts=True)
    sizes = _sizes(table)[devices.astype(np.intp)]
    smallest = quantity(sizes.min())
    largest = quantity(sizes.max())
    if smallest == largest:
        samples = f"{smallest} samples each"
    else:
        samples = f"{smallest} to {largest} samples"
    labels = len(np.unique(table["label"]))
    mean = digits(float(labels_of_device.mean()))
    return (
        f"{len(devices):,} devices hold {samples}, of {mean} of the {labels:,} labels on average"
        f"{_thinned(len(devices), labels)}. Bars: all labels."
    )


def _thinned(devices: int, labels: int) -> str:
    """Return how many of the devices and labels are drawn; an empty text where all are."""
    picks = []
    if devices > MOST_DEVICES:
        picks.append(f"{MOST_DEVICES} of the devices")
    if labels > MOST_LABELS:
        picks.append(f"{MOST_LABELS} of the labels")
    if not picks:
        return ""
    return f"; {' and '.join(picks)} are drawn"


def height(figure: Figure) -> int:
    """Return the height that the figure needs [pixels]."""
    labels = len(figure["data"][0]["y"])
    return int(np.clip(HEAD + ROW * labels, LEAST, HIGHEST))


def _colour_bar() -> Figure:
    # As high as the map only, which is the lower part of the figure.
    place = {"len": 0.8, "y": 0, "yanchor": "bottom"}
    title = {"text": "samples", "side": "right", "font": {"color": MUTED, "size": 13}}
    look = {"thickness": 12, "outlinewidth": 0, "tickfont": {"color": MUTED}, "x": 1.01, "title": title}
    return look | place


def _ticks(values: Floats) -> Figure:
    """Return a tick for each of a few values; of more, Plotly chooses some."""
    if len(values) > MOST_TICKS:
        return {}
    return {"tickmode": "array", "tickvals": short(values, ALL_FIGURES)}


def _layout(labels: Floats, devices: Floats) -> Figure:
    """Return the layout: the map below, the bars above, both over one axis of devices."""
    spaced = len(devices) <= MOST_SPACED_BARS
    return {
        "xaxis": {"title": {"text": "device"}, "anchor": "y", "showline": False, **_ticks(devices)},
        "yaxis": {
            "title": {"text": "label"},
            "domain": [0, 0.8],
            "autorange": "reversed",  # label 0 on top, as in a table
            "showgrid": False,
            **_ticks(labels),
        },
        # The bars need no title: the caption says that they count all labels.
        "yaxis2": {"domain": [0.84, 1], "nticks": 3, "rangemode": "tozero", "title": {"text": ""}},
        "bargap": 0.15 if spaced else 0,
        "margin": {"r": 8},
    }
