"""Whether all cells of a table are measured with the same seeds, as a fair table needs.

A cell with more seeds than the others is nearer to its expectation than they are. So rows of seeds that the recipe does
not list never count, and cells that differ from the others in their seeds are named.
"""

from collections.abc import Callable, Sequence

from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.texts import place_text

MOST_NAMED = 3  # cells; of more, the number is told


def seed_notes(comparison: Comparison) -> list[str]:
    """Return a sentence for the cells that lack seeds of the recipe, and for those with rows of extra seeds."""
    notes = []
    measured = [cell for cell in comparison.cells if cell.is_measured]
    wanted = _listed(comparison.seeds)
    short = [cell for cell in measured if _seeds(cell) != set(comparison.seeds)]
    if short:
        names = _named(comparison, short, _seeds)
        notes.append(f"{len(short)} of {len(measured)} cells lack some of the seeds {wanted}: {names}")
    further = [cell for cell in measured if cell.further_seeds]
    # Seeds that all cells have, such as those of another recipe with the same runs, favour none.
    if len({cell.further_seeds for cell in measured}) > 1:
        names = _named(comparison, further, lambda cell: cell.further_seeds)
        notes.append(f"{len(further)} of {len(measured)} cells have rows with extra seeds, which are ignored: {names}")
    return notes


def _seeds(cell: Cell) -> set[int]:
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
