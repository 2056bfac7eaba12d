"""The labels that devices hold: a heat map of labels and devices, with the sizes of the devices' data above it."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import digits, quantity, short
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.shared.style import Figure, StyledRun, bar_gap, bar_trace, colour_bar, even_pick

MOST_DEVICE_COLUMNS = 300
MOST_LABEL_ROWS = 100
MOST_TICKS = 30  # of more devices or labels Plotly chooses those that are written at the axis
MOST_SPACED_COLUMNS = 150
SAMPLES_SCALE = [[0, "#dbe9f4"], [0.25, "#a3cae3"], [0.5, "#56a0ce"], [0.75, "#1f6aa8"], [1, "#0b2f5c"]]
SIZE_BAR_COLOUR = "#9fb3c4"
# Pixels.
HEIGHT_BESIDE_ROWS = 150
HEIGHT_OF_ROW = 24
LEAST_HEIGHT = 300
GREATEST_HEIGHT = 620


def runs_by_data(runs: Sequence[StyledRun]) -> list[tuple[ColumnArrays, list[StyledRun]]]:
    """Return the tables of ``labels.csv`` that differ, each with the runs that have it; runs without one are left out.

    Runs that are compared often share their data, and one map then stands for all of them.
    """
    found: list[tuple[ColumnArrays, list[StyledRun]]] = []
    for run in runs:
        table = run.data.labels
        if table is None or not table["device"].size:
            continue
        for other_table, sharing_runs in found:
            if all(np.array_equal(table[name], other_table[name]) for name in table):
                sharing_runs.append(run)
                break
        else:
            found.append((table, [run]))
    return found


def figure(table: ColumnArrays) -> Figure:
    """Return the samples of each label (row) at each device (column), blank where there are none; above it their sum.

    The sum of a column is over all labels, also those that are not drawn.
    """
    labels, devices, samples = grid(table)
    # Nine digits: numbers of devices and counts are never rounded.
    device_axis = short(devices, 9)
    blank_for_none = np.where(samples > 0, samples, np.nan)
    heatmap = {
        "type": "heatmap",
        "name": "samples",
        "x": device_axis,
        "y": short(labels, 9),
        "z": [short(row, 9) for row in blank_for_none],
        "zmin": 0,
        "colorscale": SAMPLES_SCALE,
        "colorbar": colour_bar("samples", 0.8, y=0, yanchor="bottom"),  # as high as the map
        "hoverongaps": False,
        "hovertemplate": "device %{x}, label %{y}: %{z:,} samples<extra></extra>",
    }
    sizes = short(_samples_of_devices(table)[devices.astype(np.intp)], 9)
    hover = "device %{x}: %{y:,} samples"
    bars = bar_trace("all labels", SIZE_BAR_COLOUR, device_axis, sizes, hover, yaxis="y2")
    return {"data": [heatmap, bars], "layout": _layout(labels, devices)}


def grid(table: ColumnArrays) -> tuple[Floats, Floats, Floats]:
    """Return labels [L], devices [D] and samples [L, D]; an even pick where there are very many."""
    labels = _picked(table["label"], MOST_LABEL_ROWS)
    devices = _picked(table["device"], MOST_DEVICE_COLUMNS)
    rows = np.isin(table["label"], labels) & np.isin(table["device"], devices)
    grid_row: Rows = np.searchsorted(labels, table["label"][rows])
    grid_column: Rows = np.searchsorted(devices, table["device"][rows])
    samples = np.zeros((len(labels), len(devices)))  # pairs without samples have no row in the table
    samples[grid_row, grid_column] = table["samples"][rows]
    return labels, devices, samples


def _picked(values: Floats, most: int) -> Floats:
    different = np.unique(values)
    return np.asarray(different[even_pick(len(different), most)])


def _samples_of_devices(table: ColumnArrays) -> Floats:
    return np.asarray(np.bincount(table["device"].astype(np.intp), table["samples"]), np.float64)


def caption(table: ColumnArrays) -> str:
    """Return in one line how many samples and labels the devices hold, and how many of them the map shows."""
    devices, labels_of_each = np.unique(table["device"], return_counts=True)
    label_count = len(np.unique(table["label"]))
    samples = _samples_of_devices(table)[devices.astype(np.intp)]
    fewest = quantity(samples.min())
    most = quantity(samples.max())
    if fewest == most:
        amount = f"{fewest} samples each"
    else:
        amount = f"{fewest} to {most} samples"
    drawn = []
    if len(devices) > MOST_DEVICE_COLUMNS:
        drawn.append(f"{MOST_DEVICE_COLUMNS} of the devices")
    if label_count > MOST_LABEL_ROWS:
        drawn.append(f"{MOST_LABEL_ROWS} of the labels")
    mean_labels = digits(float(labels_of_each.mean()))
    text = f"{len(devices):,} devices hold {amount}, of {mean_labels} of the {label_count:,} labels on average"
    if drawn:
        text += f"; {' and '.join(drawn)} are drawn"
    return f"{text}. Bars: all labels."


def height(figure: Figure) -> int:
    """Return the height in pixels that the figure needs."""
    rows = len(figure["data"][0]["y"])
    return int(np.clip(HEIGHT_BESIDE_ROWS + HEIGHT_OF_ROW * rows, LEAST_HEIGHT, GREATEST_HEIGHT))


def _ticks(values: Floats) -> Figure:
    if len(values) > MOST_TICKS:
        return {}
    return {"tickmode": "array", "tickvals": short(values, 9)}


def _layout(labels: Floats, devices: Floats) -> Figure:
    device_axis = {"title": {"text": "device"}, "anchor": "y", "showline": False}
    # Label 0 is on top, as in a table.
    label_axis = {"title": {"text": "label"}, "domain": [0, 0.8], "autorange": "reversed", "showgrid": False}
    return {
        "xaxis": device_axis | _ticks(devices),
        "yaxis": label_axis | _ticks(labels),
        "yaxis2": {"domain": [0.84, 1], "nticks": 3, "rangemode": "tozero", "title": {"text": ""}},
        "bargap": bar_gap(len(devices), MOST_SPACED_COLUMNS, 0.15),
        "margin": {"r": 8},
    }
