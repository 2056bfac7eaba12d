"""What all compared numbers are worth together: each independent number counts once, whichever tables print it.

Cells of tables of several recipes are one number if they read the same measure of the same run: the recipes give the
run the same keys. Such a number is within tolerance if it is in all of these tables.

An agreement with a table is not evidence where its tolerance lets a fifth of the wrong numbers pass
(discrimination.py), where its recipe says so (`no_evidence`), as a counter-example does, and at a small scale.
"""

import statistics
from collections.abc import Iterable
from typing import NamedTuple

from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.discrimination import MOST_PASSING, wrong_numbers
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import Plan, PlannedRun, plan
from edgefl.reproductions.scenarios import run_digest


class Evidence(NamedTuple):
    """Independent numbers of several tables."""

    within: int
    outside: int
    passing: float  # share of wrong numbers that would pass: the mean over numbers of that of their tables
    no_evidence: int  # compared numbers of other tables

    @property
    def text(self) -> str:
        """The counts in a sentence."""
        compared = f"{self.within:,} independent numbers within tolerance, {self.outside:,} outside"
        others = f"{self.no_evidence:,} others were compared without counting as evidence"
        return f"{compared}; {100 * self.passing:.0f} % of wrong ones would pass; {others}"


def is_evidence(comparison: Comparison) -> bool:
    """Return whether an agreement with a table is evidence."""
    if comparison.scale != "full" or comparison.no_evidence is not None:
        return False
    return (wrong_numbers(comparison).share or 0.0) < MOST_PASSING


def evidence(library: Library, comparisons: Iterable[Comparison]) -> Evidence:
    """Return how many independent numbers of some tables are within tolerance, and outside.

    Args:
        library: the tables' library.
        comparisons: the tables.

    Raises:
        InputError: a recipe is wrong.
    """
    others = 0
    answers: dict[tuple[str, str], list[tuple[bool, float]]] = {}  # by run and measure
    for comparison in comparisons:
        numbers = comparison.independent()
        if not is_evidence(comparison):
            others += len(numbers)
            continue
        planned = plan(library, library.load(comparison.name), comparison.scale)
        passing = wrong_numbers(comparison).share or 0.0
        for cells in numbers:
            sources = {_source(planned, cell) for cell in cells}
            number = next((answers[source] for source in sources if source in answers), [])
            number += [(bool(cell.within), passing) for cell in cells]
            answers |= dict.fromkeys(sources, number)
    found = list({id(number): number for number in answers.values()}.values())
    within = sum(all(is_within for is_within, _ in number) for number in found)
    shares = [max(share for _, share in number) for number in found]
    return Evidence(within, len(found) - within, statistics.fmean(shares) if shares else 0.0, others)


def _source(planned: Plan, cell: Cell) -> tuple[str, str]:
    """Return a digest of the run that a cell is read from, and what is read."""
    run = PlannedRun(dict(cell.point), planned.seeds[0])
    return run_digest(planned, run), repr(planned.reading(cell.measure))
