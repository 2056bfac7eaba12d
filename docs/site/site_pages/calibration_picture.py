"""3GPP's calibration: distributions of coupling loss, geometry and SIR, drawn over the curves of the companies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.core.extras import require
from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.drawing import mean_curve
from edgefl.reproductions.library import Library
from edgefl.reproductions.published import TableRow, read_table
from edgefl.results.export.figure_style import PAGE_IN, STYLE
from edgefl.results.report.shared.style import RUN_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgefl.reproductions.records import Row

COMPANIES = "3gpp-calibration-companies.csv"
QUANTITIES = {"coupling_loss": "coupling loss [dB]", "geometry": "geometry [dB]", "sir": "wideband SIR [dB]"}
PERCENTILES = np.arange(1, 100)  # of the measured curves
DRAWN = ("p1", *(f"p{percentile}" for percentile in range(5, 100, 10)), "p99")  # of the companies' ones
HEIGHT_IN = 4.6
COMPANIES_COLOUR = "#98a1ab"


def draw(comparison: Comparison, path: Path) -> None:
    """Draw a panel for each quantity and each environment; the same numbers give the same bytes.

    Args:
        comparison: of the recipe third-party/3gpp-calibration.
        path: the SVG file.
    """
    require("matplotlib", "plot", "the pictures of the documentation")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    printed = read_table(Library().published(COMPANIES)).rows
    scenarios = list(dict.fromkeys(row.point["scenario"] for row in comparison.rows))
    environments = list(dict.fromkeys(name.partition("-")[0] for name in scenarios))
    with mpl.rc_context({**STYLE, "svg.hashsalt": comparison.name, "svg.fonttype": "none"}):
        figure = Figure(figsize=(PAGE_IN, HEIGHT_IN), layout="constrained", facecolor="white")
        panels = figure.subplots(len(environments), len(QUANTITIES), sharey=True, sharex="col", squeeze=False)
        for across, environment in zip(panels, environments, strict=True):
            of_environment = [name for name in scenarios if name.startswith(f"{environment}-")]
            for panel, quantity in zip(across, QUANTITIES, strict=True):
                _draw_panel(panel, printed, comparison.rows, quantity, of_environment)
            across[0].set_ylabel(f"{environment}: share of devices [%]")
        for panel, label in zip(panels[-1], QUANTITIES.values(), strict=True):
            panel.set_xlabel(label)
        lines, names = panels[0][0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside upper center", ncols=len(names))
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _draw_panel(
    panel: Axes, printed: Sequence[TableRow], rows: Sequence[Row], quantity: str, scenarios: Sequence[str]
) -> None:
    """Draw the companies' curves as thin lines, and measured curves over them."""
    label: str | None = "companies"
    for row in printed:
        if row["quantity"] == quantity and row["scenario"] in scenarios:
            percentiles = [float(name.removeprefix("p")) for name in DRAWN]
            levels_db = [float(row[name]) for name in DRAWN]
            panel.plot(levels_db, percentiles, color=COMPANIES_COLOUR, linewidth=0.6, label=label)
            label = None  # one entry in the legend stands for all
    for colour, scenario in zip(RUN_COLOURS, scenarios, strict=False):
        curve = mean_curve([row for row in rows if row.point["scenario"] == scenario], f"{quantity}_distribution")
        carrier = scenario.partition("-")[2]
        panel.plot(curve, PERCENTILES[: len(curve)], color=colour, linewidth=1.1, label=f"edgefl, {carrier} GHz")
    panel.set_ylim(0, 100)
    panel.grid(linewidth=0.4, alpha=0.5)
