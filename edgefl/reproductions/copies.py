"""Rows of printed tables with the same numbers: copies of one another, or one measurement that is printed twice.

A misprint of this kind passes every check of a single number. `edgefl reproduce --check` lists those that no recipe
explains, by its keys `misprinted`, `repeated` or `same`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from edgefl.reproductions.caveats import NumberKey, number_key
from edgefl.reproductions.library import Entry, Library
from edgefl.reproductions.plan import plan
from edgefl.reproductions.published import printed, read_table

LEAST_NUMBERS = 3  # in a row, in the same order, no two of them equal
LEAST_DIGITS = 3  # of each of them: 93.7, but not 10.00 or 150

Run = tuple[str, NumberKey]  # the recipe that defines a run, its point, and the measure
Number = tuple[str, float]  # a column, and what is printed in it


@dataclass
class PrintedRow:
    """A row of a printed table that recipes compare with runs."""

    recipe: str  # the first one that has it
    file: str
    labels: Mapping[str, str]  # the texts of columns without numbers
    numbers: dict[str, float] = field(default_factory=dict)  # by column
    runs: dict[str, set[Run]] = field(default_factory=dict)  # by column
    remarks: dict[str, str] = field(default_factory=dict)  # why a column's number is misprinted, or printed again

    @property
    def place(self) -> str:
        """The recipe and the labels."""
        return f"{self.recipe} ({', '.join(self.labels.values())})"


class Copy(NamedTuple):
    """Equal numbers of two rows, in the same order."""

    one: PrintedRow
    other: PrintedRow
    columns: tuple[tuple[str, str], ...]  # of both rows

    @property
    def explanation(self) -> str:
        """Why they are equal, by a recipe; empty if none says it."""
        for row, side in ((self.one, 0), (self.other, 1)):
            reasons = [row.remarks.get(pair[side], "") for pair in self.columns]
            if all(reasons):
                return reasons[0]
        if all(self.one.runs[first] & self.other.runs[second] for first, second in self.columns):
            return "both stand for the same runs"
        return ""

    @property
    def text(self) -> str:
        """The copy in a sentence."""
        numbers = ", ".join(f"{self.one.numbers[first]:g}" for first, _ in self.columns)
        return f"{self.other.place} prints {len(self.columns)} numbers of {self.one.place}: {numbers}"


def copies(library: Library) -> list[Copy]:
    """Return the rows of a library's printed tables that have at least three numbers in common.

    Rows of tables with some equal columns are also compared only in these.

    Raises:
        InputError: a recipe is wrong.
    """
    rows = _printed_rows(library)
    whole = [list(row.numbers.items()) for row in rows]
    found = dict(_common(whole))
    for shared, files in _shared_columns(rows):
        parts: list[list[Number]] = []
        for row in rows:
            numbers = row.numbers.items() if row.file in files else ()
            parts.append([(column, number) for column, number in numbers if column in shared])
        for pair, common in _common(parts):
            if len(common) > len(found.get(pair, ())):
                found[pair] = common
    return [Copy(rows[first], rows[second], found[first, second]) for first, second in sorted(found)]


def _shared_columns(rows: Sequence[PrintedRow]) -> Iterator[tuple[set[str], tuple[str, str]]]:
    """Yield the columns that two tables share, with their files, where they are enough, and not all columns."""
    columns: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        columns[row.file].update(row.numbers)
    for one, other in combinations(columns, 2):
        shared = columns[one] & columns[other]
        if len(shared) >= LEAST_NUMBERS and columns[one] != columns[other]:
            yield shared, (one, other)


def _printed_rows(library: Library) -> list[PrintedRow]:
    """Return the rows of all printed tables that recipes have; each once, whatever number of recipes share it."""
    rows: dict[tuple[str, tuple[str, ...]], PrintedRow] = {}
    for entry in library.all():
        if entry.recipe.published is not None:
            for row in _rows_of(library, entry):
                known = rows.setdefault((row.file, tuple(row.labels.values())), row)
                known.numbers |= row.numbers
                known.remarks |= row.remarks
                for column, runs in row.runs.items():
                    known.runs.setdefault(column, set()).update(runs)
    return list(rows.values())


def _rows_of(library: Library, entry: Entry) -> Iterator[PrintedRow]:
    """Yield the rows of a recipe's printed table; a row may come several times."""
    recipe = entry.recipe
    header = read_table(library.published(str(recipe.published))).header
    for cell in plan(library, entry, "full").cells:
        labels = {name: text for name, text in cell.row.items() if name in header}
        row = PrintedRow(entry.name, str(recipe.published), labels)
        text = "" if cell.published is None else cell.published.text
        number = printed(text, recipe.cell).number
        if number is None:
            continue
        row.numbers[cell.column] = number
        row.runs[cell.column] = {(entry.runs_of, number_key(cell.point, cell.measure, ()))}
        for remark in (*recipe.misprinted, *recipe.repeated):
            if remark.has(labels, cell.column):
                row.remarks[cell.column] = remark.why
        yield row


def _common(rows: Sequence[Sequence[Number]]) -> Iterator[tuple[tuple[int, int], tuple[tuple[str, str], ...]]]:
    """Yield pairs of rows, by index, with the longest part that both have, as pairs of columns."""
    begins: dict[tuple[float, ...], list[tuple[int, int]]] = defaultdict(list)
    for index, row in enumerate(rows):
        for begin in range(len(row) - LEAST_NUMBERS + 1):
            window = tuple(number for _, number in row[begin : begin + LEAST_NUMBERS])
            if len(set(window)) == LEAST_NUMBERS and all(map(_tells, window)):
                begins[window].append((index, begin))
    longest: dict[tuple[int, int], tuple[tuple[str, str], ...]] = {}
    for places in begins.values():
        for (one, first), (other, second) in combinations(places, 2):
            if one != other:
                common = _extended(rows[one], first, rows[other], second)
                if len(common) > len(longest.get((one, other), ())):
                    longest[one, other] = common
    yield from longest.items()


def _extended(one: Sequence[Number], first: int, other: Sequence[Number], second: int) -> tuple[tuple[str, str], ...]:
    """Return the whole common part around an equal number in both rows, as pairs of columns."""
    while first > 0 and second > 0 and one[first - 1][1] == other[second - 1][1]:
        first -= 1
        second -= 1
    pairs = []
    for (column, number), (other_column, other_number) in zip(one[first:], other[second:], strict=False):
        if number != other_number:
            break
        pairs.append((column, other_column))
    return tuple(pairs)


def _tells(number: float) -> bool:
    """Return whether a number has enough digits to be equal to another one by copying rather than by chance."""
    digits = f"{abs(number):.12e}".partition("e")[0].replace(".", "").strip("0")
    return len(digits) >= LEAST_DIGITS
