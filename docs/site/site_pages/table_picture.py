"""A picture of a comparison: a panel for each row, published marks beside measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.texts import place_text
from edgefl.results.export.figure_style import PAGE_IN, STYLE
from edgefl.results.report.shared.style import INK, RUN_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_IN = 0.2  # of height, for each column of the table
FRAME_IN = 0.95  # above and below the panels


def draw(comparison: Comparison, path: Path) -> None:
    """Draw the numbers of a comparison of one measure; the same numbers give the same bytes.

    Args:
        comparison: a table with few rows, one for each panel.
        path: the SVG file.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows: dict[str, list[Cell]] = {}
    for cell in comparison.cells:
        rows.setdefault(place_text(comparison.row_names, cell.row), []).append(cell)
    columns = list(dict.fromkeys(cell.column for cell in comparison.cells))
    with mpl.rc_context({**STYLE, "svg.hashsalt": comparison.name, "svg.fonttype": "none"}):
        figure = Figure(figsize=(PAGE_IN, FRAME_IN + LINE_IN * len(columns)), layout="constrained", facecolor="white")
        panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
        for panel, (title, cells) in zip(panels, rows.items(), strict=True):
            places = [columns.index(cell.column) for cell in cells]
            _draw_measured(panel, cells, places)
            printed = [cell.printed_number for cell in cells]
            known = [(number, place) for number, place in zip(printed, places, strict=True) if number is not None]
            panel.plot(
                [number for number, _ in known],
                [place for _, place in known],
                linestyle="none",
                marker="D",
                markersize=6,
                markerfacecolor="none",
                markeredgecolor=INK,
                label="published",
            )
            panel.set_title(title, fontsize=8)
            panel.set_xlim(left=0)
            panel.grid(axis="y", linewidth=0.4, alpha=0.5)
        panels[0].set_yticks(range(len(columns)), columns)
        panels[0].invert_yaxis()  # the first column on top
        figure.supxlabel(comparison.title, fontsize=8)
        lines, names = panels[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside upper center", ncols=len(names))
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _draw_measured(panel: Axes, cells: list[Cell], places: list[int]) -> None:
    """Draw the mean of each cell, and a small mark for each seed."""
    means = [(cell.mean, place) for cell, place in zip(cells, places, strict=True) if cell.mean is not None]
    seeds = [(one.number, place) for cell, place in zip(cells, places, strict=True) for one in cell.by_seed.values()]
    for marks, size, alpha, label in ((means, 4, 1.0, "measured"), (seeds, 2, 0.5, "by seed")):
        numbers = [number for number, _ in marks]
        rows = [place for _, place in marks]
        panel.plot(numbers, rows, "o", color=RUN_COLOURS[0], markersize=size, alpha=alpha, label=label)
