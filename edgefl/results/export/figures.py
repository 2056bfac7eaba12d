"""Figures in print quality, PNG or PDF with embedded fonts: accuracy over rounds, time and energy; energy by phase."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgefl.core.errors import InputError
from edgefl.core.units import ENERGY, fitting, top
from edgefl.results.export.folder import rows
from edgefl.results.export.groups import Group, grouped
from edgefl.results.extras import require
from edgefl.results.report.read import load_all
from edgefl.results.report.style import DASHES, ENERGY_PHASES, RUN_COLOURS
from edgefl.results.report.views import VIEWS, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMN_IN, PAGE_IN, HEIGHT_IN, LINE_IN = 3.5, 7.16, 2.4, 0.16  # of IEEE's two columns; a line of text
LEGEND, TICK = 52, 20  # characters of a line
FEWEST_BARS = 3  # for which there is room: a bar alone would fill it
PHASES = "phases"
STYLE: Any = {  # Matplotlib's type names all of its keys
    "font.size": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # TrueType, embedded: what publishers ask for
    "savefig.dpi": 600,
    "text.parse_math": False,  # a $ in a label is one
}
LINES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
NO_DATE: dict[str, dict[str, None]] = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}


class Look(NamedTuple):
    """How a group is drawn."""

    group: Group
    colour: str
    dash: str


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """One figure at a column's width, or all of them at a page's."""
    require("matplotlib", "plot", f"export --format {form}")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    looks = [_look(group, place) for place, group in enumerate(grouped(load_all(folders, details=False)))]
    views = {view.name if view.name != "round" else "rounds": view for view in VIEWS}
    learned = any(run.final_accuracy is not None for look in looks for run in look.group.runs)
    names = [part] if part else [*(views if learned else []), PHASES]
    if part in views and not learned:
        raise InputError(f"export: --figure {part}: no accuracy was measured; there is --figure {PHASES}")
    lines = sum(_label(look, LEGEND).count("\n") + 1 for look in looks)
    legend = lines * LINE_IN if len(looks) > 1 and names != [PHASES] else 0.0
    height = HEIGHT_IN * -(-len(names) // 2) + legend
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(COLUMN_IN if len(names) == 1 else PAGE_IN, height), layout="constrained")
        panels = np.ravel(figure.subplots(-(-len(names) // 2), min(2, len(names))))
        for axes, name in zip(panels, names, strict=False):
            _phases(axes, looks) if name == PHASES else _accuracy(axes, looks, views[name])
        if legend:
            figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left")
        figure.savefig(sink, format=form, metadata=NO_DATE[form])


def _look(group: Group, place: int) -> Look:
    turn, colour = divmod(place, len(RUN_COLOURS))
    return Look(group, RUN_COLOURS[colour], LINES[DASHES[turn % len(DASHES)]])


def _label(look: Look, width: int) -> str:
    """What the group is called, in lines of a width."""
    return textwrap.fill(look.group.label, width)


def _accuracy(axes: Axes, looks: Sequence[Look], view: View) -> None:
    """A line a run, those of a group alike: nothing is averaged or interpolated."""
    runs = [run for look in looks for run in look.group.runs]
    unit = fitting(top([run.rounds[view.column] for run in runs]), view.units)
    for look in looks:
        for place, run in enumerate(look.group.runs):
            tested = np.isfinite(run.rounds["test_accuracy"])
            x, y = run.rounds[view.column][tested] / unit.size, 100 * run.rounds["test_accuracy"][tested]
            label = _label(look, LEGEND) if place == 0 else None
            marker = "." if len(x) == 1 else ""
            axes.plot(x, y, look.dash, color=look.colour, label=label, marker=marker)
    axes.set_xlabel(f"{view.title} [{unit.name}]" if unit.name else view.title)
    axes.set_ylabel("test accuracy [%]")
    axes.set_xlim(left=0)
    axes.grid(axis="y", linewidth=0.3)


def _phases(axes: Axes, looks: Sequence[Look]) -> None:
    """A bar a group: the mean over its runs of what all devices have spent, phase by phase."""
    spent = np.array([np.mean([_spent(run.folder) for run in look.group.runs], axis=0) for look in looks])
    unit = fitting(top([spent.sum(axis=1)]), ENERGY)
    places, left = np.arange(len(looks)), np.zeros(len(looks))
    for phase, values in zip(ENERGY_PHASES, spent.T / unit.size, strict=True):
        axes.barh(places, values, left=left, color=phase.colour, label=phase.name, height=0.7)
        left += values
    axes.set_yticks(places if len(looks) > 1 else [], [_label(look, TICK) for look in looks] if len(looks) > 1 else [])
    middle, reach = (len(looks) - 1) / 2, max(len(looks), FEWEST_BARS) / 2
    axes.set_ylim(middle + reach, middle - reach)
    axes.set_xlabel(f"energy [{unit.name}]")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(ENERGY_PHASES), columnspacing=1, handlelength=1)


def _spent(folder: Path) -> list[float]:
    """Joules [phase] of all devices and rounds of a run."""
    total = np.zeros(len(ENERGY_PHASES))
    for row in rows(folder, "devices.csv"):
        total += [row.get(phase.column) or 0.0 for phase in ENERGY_PHASES]
    return list(total)
