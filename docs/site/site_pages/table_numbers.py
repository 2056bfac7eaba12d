"""How many of the numbers in the papers' tables are measured, and how many independent ones are within tolerance.

Counted as measured or not are the numbers in the files `published/PAPER-table*.csv` of papers with such files: each
cell with a number, in each column that some recipe reads. Cells that several recipes ask belong to the first one, by
name, that has measured them; recipes of other readings come after the main one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.evidence import evidence
from edgefl.reproductions.library import Entry, Library
from edgefl.reproductions.plan import PlannedCell, plan
from edgefl.reproductions.published import Table, printed, read_table
from edgefl.results.export.dialects import Cell as TextCell
from edgefl.results.export.dialects import TextColumn, markdown

COMPARED = "compared"
ORDER = "order only"
MEASURED = "measured, not asked"
ECHO = "echoes defaults"
SMALL = "small scale only"
MISPRINTED = "misprinted"
NO_DATA = "without data"
NO_TIME = "without time"
MACHINE = "of another machine"
NO_RECIPE = "without a recipe"
STATES = (COMPARED, ORDER, MEASURED, ECHO, SMALL, MISPRINTED, NO_DATA, NO_TIME, MACHINE, NO_RECIPE)
UNMEASURED = (NO_DATA, NO_TIME)
EVIDENCE = ("independent numbers within tolerance", "outside", "wrong ones that would pass", "no evidence")


class Place(NamedTuple):
    """The place of a printed number."""

    file: str
    row: int  # of the file, from 0
    column: str


def table(library: Library, compared: Mapping[str, Comparison], without_data: Iterable[str]) -> str:
    """Return the table in Markdown: how many numbers of each paper, and in total, are in each state.

    Args:
        library: the recipes.
        compared: the recorded comparison of each recipe.
        without_data: the recipes whose data no measurement has used.
    """
    by_paper = counts(library, compared, set(without_data))
    if not by_paper:
        return ""
    total = sum(by_paper.values(), Counter[str]())
    states = [state for state in STATES if total[state]]
    columns = [TextColumn("", "", [TextCell(text) for text in ("numbers", *states)], left=True)]
    # A column for each paper, not for each state: there are fewer papers, and the table fits narrow windows.
    for paper, found in {**by_paper, "total": total}.items():
        numbers = [found.total(), *(found[state] for state in states)]
        columns.append(TextColumn("", paper, [TextCell(f"{number:,}") for number in numbers]))
    return markdown(columns, "")


def evidence_table(library: Library, compared: Mapping[str, Comparison]) -> str:
    """Return the table in Markdown: how many independent numbers of each paper, and in total, are within tolerance."""
    columns = [TextColumn("", "", list(map(TextCell, EVIDENCE)), left=True)]
    for paper in [*library.papers, "total"]:
        chosen = [one for name, one in compared.items() if paper in {"total", name.partition("/")[0]}]
        found = evidence(library, chosen)
        passing = f"{100 * found.passing:.0f} %" if found.within + found.outside else ""
        texts = [f"{found.within:,}", f"{found.outside:,}", passing, f"{found.no_evidence:,}"]
        columns.append(TextColumn("", paper, list(map(TextCell, texts))))
    return markdown(columns, "")


def counts(library: Library, compared: Mapping[str, Comparison], without_data: set[str]) -> dict[str, Counter[str]]:
    """Return how many numbers of each paper's tables are in each state."""
    by_paper: dict[str, list[Entry]] = {}
    for entry in library.all():
        if (entry.recipe.published or "").startswith(f"{entry.paper}-table"):
            by_paper.setdefault(entry.paper, []).append(entry)
    found = {}
    for paper, entries in by_paper.items():
        states: dict[Place, str] = {}
        for entry in entries:
            unmeasured = NO_DATA if entry.name in without_data else NO_TIME
            for place, state in _states(library, entry, compared[entry.name], unmeasured).items():
                if states.get(place) in {None, *UNMEASURED}:
                    states[place] = state
        for place in _without_recipe(library, entries, set(states)):
            states[place] = NO_RECIPE
        machines = {entry.recipe.published for entry in entries if entry.recipe.apart}  # processor time and memory
        states |= {place: MACHINE for place in states if place.file in machines}
        found[paper] = Counter(states.values())
    return found


def _states(library: Library, entry: Entry, comparison: Comparison, unmeasured: str) -> dict[Place, str]:
    """Return the state of each number that a recipe asks, at its whole scale."""
    file = read_table(library.published(str(entry.recipe.published)))
    measured: dict[Place, Cell] = {}
    for cell in comparison.cells:
        for place in _places(file, cell):
            measured.setdefault(place, cell)
    found: dict[Place, str] = {}
    for planned in plan(library, entry, "full").cells:
        if planned.published is None:
            continue
        if planned.published.misprint:
            found |= dict.fromkeys(_places(file, planned), MISPRINTED)
        elif planned.published.number is not None:
            for place in _places(file, planned):
                found[place] = _state(comparison, measured.get(place), unmeasured)
    return found


def _state(comparison: Comparison, cell: Cell | None, unmeasured: str) -> str:
    """Return the state of a number."""
    if cell is None or not cell.is_measured:
        return unmeasured
    if comparison.scale != "full":
        return SMALL
    reading = comparison.measures.get(cell.measure)  # None for a relation
    if reading is not None and reading.is_input:
        return ECHO
    if cell.within is not None:
        return COMPARED
    return ORDER if comparison.orders else MEASURED


def _places(file: Table, cell: Cell | PlannedCell) -> list[Place]:
    """Return the places of a cell in the file of its recipe."""
    labels = {name: text for name, text in cell.row.items() if name in file.header}
    rows = [number for number, row in enumerate(file.rows) if all(row[name] == text for name, text in labels.items())]
    return [Place(file.file, row, cell.column) for row in rows]


def _without_recipe(library: Library, entries: Sequence[Entry], known: set[Place]) -> set[Place]:
    """Return the places of numbers beside the known ones, in columns that recipes read."""
    columns: dict[str, set[str]] = {}
    for place in known:
        columns.setdefault(place.file, set()).add(place.column)
    forms = {entry.recipe.published: entry.recipe.cell for entry in entries}
    found = set()
    for name, of_file in columns.items():
        for number, row in enumerate(read_table(library.published(name)).rows):
            for column in of_file:
                place = Place(name, number, column)
                if place not in known and printed(row[column], forms[name]).number is not None:
                    found.add(place)
    return found
