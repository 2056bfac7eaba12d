"""What limits the worth of a comparison, in sentences for the terminal, a study's page and the documentation."""

from collections.abc import Callable, Sequence

from edgefl.reproductions.caveats import Dependence, FittedReading
from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.records import LACKS
from edgefl.reproductions.texts import MISPRINTED, place_text

MOST_NAMED = 3  # cells; of more, the number is told


def remarks(comparison: Comparison) -> list[tuple[str, str]]:
    """Return what a remark is about, in at most ten characters, and its text without a full stop, for each remark."""
    found = [("seeds", note) for note in seed_notes(comparison)]
    if comparison.no_evidence is not None:
        found.append(("evidence", f"none: {comparison.no_evidence}"))
    found += [("count once", _dependence_text(dependence)) for dependence in comparison.dependent]
    found += [("misprinted", f"{MISPRINTED} {text}") for text in _misprint_texts(comparison)]
    found += [("data lack", text) for text in _lacks_texts(comparison)]
    if comparison.reading is not None:
        found.append(("reading", reading_text(comparison.reading)))
    if comparison.gap is not None:
        found.append(("gap", comparison.gap))
    return [(name, " ".join(text.split()).removesuffix(".")) for name, text in found]


def reading_text(reading: FittedReading) -> str:
    """Return what was chosen after looking at the printed numbers, how freely, and why."""
    freedom = []
    if reading.tried is not None:
        freedom.append(f"{reading.tried} tried")
    if reading.constants is not None:
        freedom.append("1 number fitted" if reading.constants == 1 else f"{reading.constants} numbers fitted")
    return f"fitted: {reading.fitted} ({', '.join(freedom)}); {reading.why}"


def seed_notes(comparison: Comparison) -> list[str]:
    """Return a sentence for the cells that lack seeds of the recipe, and for those with rows of extra seeds.

    A cell with more seeds than the others is nearer to its expectation than they are. So rows of seeds that the recipe
    does not list never count, and cells that differ from the others in their seeds are named.
    """
    notes = []
    measured = [cell for cell in comparison.cells if cell.is_measured]
    wanted = _listed(comparison.seeds)
    short = [cell for cell in measured if _counted(cell) != set(comparison.seeds)]
    if short:
        names = _named(comparison, short, _counted)
        notes.append(f"{len(short)} of {len(measured)} cells lack some of the seeds {wanted}: {names}")
    further = [cell for cell in measured if cell.further_seeds]
    # Seeds that all cells have, such as those of another recipe with the same runs, favour none.
    if len({cell.further_seeds for cell in measured}) > 1:
        names = _named(comparison, further, lambda cell: cell.further_seeds)
        notes.append(f"{len(further)} of {len(measured)} cells have rows with extra seeds, which are ignored: {names}")
    return notes


def _counted(cell: Cell) -> set[int]:
    """Return the seeds of a cell that count."""
    return {*cell.by_seed, *cell.diverged}


def _named(comparison: Comparison, cells: Sequence[Cell], seeds_of: Callable[[Cell], set[int] | frozenset[int]]) -> str:
    texts = []
    for cell in cells[:MOST_NAMED]:
        place = ", ".join(text for text in (place_text(comparison.row_names, cell.row), cell.column) if text)
        texts.append(f"{place or cell.measure} (seeds {_listed(sorted(seeds_of(cell)))})")
    left = len(cells) - len(texts)
    if left:
        texts.append(f"and {left} more")
    return "; ".join(texts)


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))


def _misprint_texts(comparison: Comparison) -> list[str]:
    """Return the reason of each misprint, after the cells that it is about."""
    by_reason: dict[str, list[Cell]] = {}
    for cell in comparison.cells:
        if cell.published is not None and cell.published.misprint:
            by_reason.setdefault(cell.published.misprint, []).append(cell)
    return [f"{_cells_text(comparison, cells)}: {why}" for why, cells in by_reason.items()]


def _cells_text(comparison: Comparison, cells: list[Cell]) -> str:
    """Return the place of a cell, or how many cells there are in what rows."""
    rows = [place_text(comparison.row_names, cell.row) for cell in cells]
    if len(cells) == 1:
        return f"{rows[0]}, {cells[0].column}".strip(", ")
    return f"{len(cells)} cells ({'; '.join(dict.fromkeys(rows))})"


def _dependence_text(dependence: Dependence) -> str:
    """Return which numbers count once, and why."""
    values = {axis: ", ".join(map(str, chosen)) for axis, chosen in dependence.when.items()}
    over = []
    for axis in dependence.over:
        if axis in values:
            over.append(f"{axis} ({values.pop(axis)})")
        else:
            over.append(f"all {axis}")
    where = [f"{axis} {text}" for axis, text in values.items()]
    return f"{', '.join([*over, *where])}: {dependence.why}"


def _lacks_texts(comparison: Comparison) -> list[str]:
    """Return the samples that the data of measured runs lacked, each text once."""
    rows = [*comparison.rows, *comparison.diverged]
    return list(dict.fromkeys(row.origin[LACKS] for row in rows if row.origin.get(LACKS)))
