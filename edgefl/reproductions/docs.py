"""Writes the documents about reproductions from the recipes and the recorded rows: an index, and a page for each paper.

python -m edgefl.reproductions.docs docs/reproductions --picture docs/images/reproduction.svg

`--calibration FILE` draws 3GPP's calibration, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgefl.core.files import write_atomically
from edgefl.learning.datasets.fetch import MADE_HERE
from edgefl.reproductions import picture
from edgefl.reproductions.comparison import Comparison, compare
from edgefl.reproductions.figures import calibration
from edgefl.reproductions.library import Entry, Library
from edgefl.reproductions.needs import PART
from edgefl.reproductions.paper_table import as_markdown
from edgefl.reproductions.plan import plan
from edgefl.reproductions.study_folder import recorded_rows
from edgefl.reproductions.texts import last_day, place_text, tolerance_text, within_text
from edgefl.results.export.dialects import Cell, TextColumn, markdown

PICTURED = "fedssg/table-3"
CALIBRATION = "third-party/3gpp-calibration"
INDEX = "README.md"
COMMAND = "python -m edgefl.reproductions.docs docs/reproductions"
WITHOUT_RECIPE = "Without a recipe"  # how a paragraph of `about.md` begins that names such items
INTRODUCTION = f"""\
# Reproductions

What five papers print, beside what edgefl measures. `edgefl reproduce` lists all recipes with the data that they need,
and whether these are on your machine; `edgefl reproduce fedssg/table-3` runs one, and `--recorded` prints what was
measured before ([command line](../command-line.md)). [How to write a recipe](recipes.md).

- *within tolerance*: all was measured, and what the recipe asks for holds;
- *a named gap*: a part does not hold, and the recipe says what is known of it;
- *outside tolerance*: a part does not hold, and nobody knows why;
- *measured*: nothing is printed that could be compared;
- *partly measured*: some of the runs are still missing;
- *not measured*: nothing was run; *needs data*: nothing was run, as the data were not at hand.

What was measured at a smaller scale says so. `{COMMAND}` writes this page and those of the papers from the recipes and
the recorded rows.
"""


def write(folder: Path, library: Library) -> list[Path]:
    """Write the index, and a page for each paper; return the files."""
    files = []
    for name, text in pages_of(library).items():
        files.append(folder / name)
        write_atomically(files[-1], text.encode())
    return files


def pages_of(library: Library) -> dict[str, str]:
    """Return the texts of all pages by their names."""
    entries = library.all()
    compared = {entry.name: recorded(library, entry) for entry in entries}
    _mark_missing_data(library, entries, compared)
    pages = {INDEX: _index(library, entries, compared)}
    for paper in library.papers:
        own = [entry for entry in entries if entry.paper == paper]
        pages[f"{paper}.md"] = _paper_page(library, paper, own, compared)
    return pages


def recorded(library: Library, entry: Entry) -> Comparison:
    """Return a recipe's comparison with the rows that come with edgefl, at the largest scale that has some."""
    found: list[Comparison] = []
    for scale in entry.recipe.scale_names:  # the whole one first
        planned = plan(library, entry, scale)
        # Not which data are on the machine that writes the pages: they must be the same everywhere.
        found.append(compare(planned, recorded_rows(library, planned), data_are_here=True))
    return next((one for one in found if is_measured(one)), found[0])


def is_measured(comparison: Comparison) -> bool:
    """Return whether some of the runs have been measured."""
    return comparison.state not in {"not measured", "needs data"}


def _mark_missing_data(library: Library, entries: Sequence[Entry], compared: dict[str, Comparison]) -> None:
    """Give recipes whose data have not been used in any measurement the state `needs data`."""
    used: set[str] = set()
    for entry in entries:
        comparison = compared[entry.name]
        if is_measured(comparison):
            # A small study may have used a part of the data that the whole one needs.
            used.update(_dataset(value) for value in plan(library, entry, comparison.scale).data)
    for entry in entries:
        wanted = {_dataset(value) for value in entry.recipe.data if not _part_will_do(value)} - set(MADE_HERE)
        if not is_measured(compared[entry.name]) and not wanted <= used:
            compared[entry.name] = replace(compared[entry.name], state="needs data")


# Pages


def _index(library: Library, entries: Sequence[Entry], compared: dict[str, Comparison]) -> str:
    parts = [INTRODUCTION]
    for paper in library.papers:
        own = [entry for entry in entries if entry.paper == paper]
        parts.append(f"## [{_title(library, paper)}]({paper}.md)\n\n{_overview(own, compared)}")
        without = without_recipe(library, paper)
        if without:
            parts.append(f"{without}\n")
    return "\n".join(parts)


def _overview(entries: Sequence[Entry], compared: dict[str, Comparison]) -> str:
    """Return the table of some recipes, each with its state."""
    comparisons = [compared[entry.name] for entry in entries]
    columns = {
        "printed item": [", ".join(entry.recipe.covers) or entry.recipe.source for entry in entries],
        "recipe": [entry.name for entry in entries],
        "data": [", ".join(map(_dataset, entry.recipe.data)) for entry in entries],
        "state": [_state(comparison) for comparison in comparisons],
        "cells within tolerance": [within_text(comparison) for comparison in comparisons],
        "last measured": [last_day(one) if is_measured(one) else "" for one in comparisons],
    }
    return markdown([TextColumn("", name, list(map(Cell, texts)), left=True) for name, texts in columns.items()], "")


def _paper_page(library: Library, paper: str, entries: Sequence[Entry], compared: dict[str, Comparison]) -> str:
    about = _about(library, paper)
    if not about:
        about = f"# {paper}\n"
    parts = [about, _overview(entries, compared)]
    for entry in entries:
        comparison = compared[entry.name]
        if is_measured(comparison):
            parts.append(_section(comparison))
    parts.append(f"`{COMMAND}` writes this page.\n")
    return "\n".join(parts)


def _section(comparison: Comparison) -> str:
    """Return the section of a recipe of which something was measured."""
    command = f"edgefl reproduce {comparison.name}"
    if comparison.scale != "full":
        command = f"{command} --scale {comparison.scale}"
    covers = ", ".join(comparison.covers) or comparison.source
    lines = [f"## {covers}: {_plain(comparison.title)}", "", f"`{command}`: **{_state(comparison)}**.", ""]
    seeds = len(comparison.seeds)
    if any(cell.is_measured for cell in comparison.cells):
        has_printed = any(cell.published is not None for cell in comparison.cells)
        what = "Published, as printed / measured" if has_printed else "Measured"
        over = ", one seed"
        if seeds > 1:
            over = f", the mean over {seeds} seeds (or those that there are) ± their standard deviation"
        bold = ""
        if any(cell.within is False for cell in comparison.cells):
            bold = " Bold: outside tolerance."
        lines += [f"{what}{over}.{bold}", "", as_markdown(comparison)]
    if comparison.figure is not None:
        lines += [f"`{command} --recorded -o FOLDER` writes the figure.", ""]
    lines += _judgement(comparison)
    return "\n".join(lines)


def _judgement(comparison: Comparison) -> list[str]:
    """Return what the recipe asks for, what of it holds, and what is known to differ."""
    lines = []
    if comparison.tolerance is not None:
        asked = tolerance_text(comparison.tolerance)
        lines.append(f"- **Tolerance**: {asked}; {_plain(comparison.tolerance.why)}.")
    within = within_text(comparison)
    if within:
        lines.append(f"- **Within tolerance**: {within} cells that could be compared.")
    failed = [order for order in comparison.orders if order.holds is False]
    if comparison.orders:
        held = sum(order.holds is True for order in comparison.orders)
        lines.append(f"- **Orders**: {held} of {len(comparison.orders)} hold.")
    for order in failed:
        place = place_text(comparison.row_names, order.row)
        lines.append(f"  - not {order.text}{f' ({place})' if place else ''}")
    if comparison.gap is not None:
        lines.append(f"- **Gap**: {_plain(comparison.gap)}")
    return [*lines, ""]


def _plain(text: str) -> str:
    """Return a text on one line, in which Markdown finds no HTML."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")


def _state(comparison: Comparison) -> str:
    text = comparison.state_text
    if is_measured(comparison) and comparison.scale != "full":
        text = f"{text} (scale {comparison.scale})"
    return text


def _dataset(value: str | dict[str, Any]) -> str:
    """Return the name of a dataset that a recipe needs."""
    if isinstance(value, str):
        return value
    name = str(value["dataset"])
    return f"{name} (a part)" if _part_will_do(value) else name


def _part_will_do(value: str | dict[str, Any]) -> bool:
    return not isinstance(value, str) and bool(value.get(PART))


def _about(library: Library, paper: str) -> str:
    """Return what the library says about a paper: a heading, and what holds for all of its recipes."""
    path = library.root / "recipes" / paper / "about.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def without_recipe(library: Library, paper: str) -> str:
    """Return the paragraph of `about.md` that names the printed items of a paper that have no recipe; empty if none."""
    paragraphs = _about(library, paper).split("\n\n")
    return next((text.strip() for text in paragraphs if text.startswith(WITHOUT_RECIPE)), "")


def _title(library: Library, paper: str) -> str:
    return _about(library, paper).partition("\n")[0].removeprefix("# ") or paper


def main(arguments: Sequence[str]) -> None:
    """Write the pages, and the picture if one is asked for."""
    parser = argparse.ArgumentParser(prog="python -m edgefl.reproductions.docs")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--picture", metavar="FILE", type=Path, help=f"draw {PICTURED} into an SVG file, too")
    parser.add_argument("--calibration", metavar="FILE", type=Path, help=f"draw {CALIBRATION} into an SVG file, too")
    options = parser.parse_args(arguments)
    library = Library()
    write(options.folder, library)
    if options.picture is not None:
        picture.draw(recorded(library, library.load(PICTURED)), options.picture)
    if options.calibration is not None:
        calibration.draw_file(recorded(library, library.load(CALIBRATION)), options.calibration)


if __name__ == "__main__":
    main(sys.argv[1:])
