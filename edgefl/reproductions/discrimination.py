"""How well a tolerance tells right numbers from wrong ones.

A tolerance that is wide enough for every algorithm's number says little when a measured number is within it. So each
printed number, as if it had been measured exactly, is held against those that are printed for *other* cells: those of
its row with the same measure, such as other algorithms, or, where its row has no such cell, those of the other rows.
The share of these wrong numbers that would pass is 0 for a tolerance that tells all cells apart, and 1 for one that
tells none apart. It is known before anything is measured, and a measured number far from all printed ones does not make
it smaller. Pairs of equal printed numbers are left out, so are pairs that bounds leave undecided, and cells that share
a run.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from edgefl.reproductions.comparison import Cell, Comparison, is_within

MOST_PASSING = 0.2  # with this share of wrong numbers or more, an agreement with a table is not evidence


class WrongNumbers(NamedTuple):
    """How many wrong numbers were held against right ones, and how many of them would pass."""

    passing: int
    held: int

    @property
    def share(self) -> float | None:
        """The share that would pass; None if there is no wrong number to hold."""
        if not self.held:
            return None
        return self.passing / self.held


def wrong_numbers(comparison: Comparison) -> WrongNumbers:
    """Return how many wrong numbers would pass a comparison's tolerance.

    The source of a wrong number is another cell of the same row and measure, or of another row if the row has no other.
    """
    tolerance = comparison.tolerance
    if tolerance is None:
        return WrongNumbers(0, 0)
    answers = []
    for cell in comparison.cells:
        if cell.published is None or cell.published.number is None:
            continue
        for other in _wrong(cell, comparison.cells):
            limits = tolerance.of(cell.measure)
            answer = is_within(other.published, limits, cell.published.number, bound=cell.published.bound)
            if answer is not None:
                answers.append(answer)
    return WrongNumbers(sum(answers), len(answers))


def share_text(comparison: Comparison) -> str:
    """Return the share of wrong numbers that would pass; empty without wrong numbers."""
    share = wrong_numbers(comparison).share
    return "" if share is None else f"{100 * share:.0f} %"


def wrong_text(comparison: Comparison) -> str:
    """Return in words how many wrong numbers would pass; empty without wrong numbers."""
    found = wrong_numbers(comparison)
    if not found.held:
        return ""
    return f"{share_text(comparison)} of {found.held:,} numbers that are printed for other cells would pass, too"


def _wrong(cell: Cell, cells: Sequence[Cell]) -> Iterator[Cell]:
    """Yield the cells whose printed numbers are wrong ones for a cell."""
    alike = [other for other in cells if other is not cell and other.measure == cell.measure and other.asked]
    beside = [other for other in alike if other.row == cell.row]
    for other in beside or alike:
        if other.printed_number != cell.printed_number and other.point != cell.point:
            yield other
