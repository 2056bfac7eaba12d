"""Keys of a recipe that limit what its printed numbers or its agreement with them are worth.

- `misprinted`: printed cells that cannot be what was measured. They are shown, and never compared.
- `repeated`: rows whose numbers another row prints, too, and by right: they count there, and the search for copies does
  not list them.
- `dependent`: numbers that follow from one another, and count once.
- `reading`: a choice that was made after looking at the printed numbers.
- `no_evidence`: why an agreement says nothing: the printed numbers are nearer to one another than runs that repeat the
  same thing, or the recipe is a counter-example (evidence.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from edgefl.core.section import Section, fault
from edgefl.reproductions.figure import OneOrMore

Scalar = str | int | float | bool
Scalars = Annotated[tuple[Scalar, ...], Field(strict=False, min_length=1)]
Values = Annotated[Scalars, BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,))]
"""A value, or one of several."""

Choice = Annotated[dict[str, Values], Field(min_length=1)]


class PrintedRows(Section):
    """Rows of the printed table."""

    when: Choice  # by the columns of the printed table

    def has_row(self, row: Mapping[str, str]) -> bool:
        """Return whether the rows include one with these texts."""
        return all(is_one_of(row.get(column), values) for column, values in self.when.items())


class PrintedCells(PrintedRows):
    """Cells of the printed table, with a remark."""

    columns: OneOrMore = ()  # of these rows; none: all of them
    why: str

    def has(self, row: Mapping[str, str], column: str) -> bool:
        """Return whether the cells include that of a row and a column."""
        return self.has_row(row) and (not self.columns or column in self.columns)


class Dependence(Section):
    """Axes over which numbers of one measure follow from one another, so that they count once."""

    over: OneOrMore  # the axes
    when: dict[str, Values] = Field(default_factory=dict)  # only where axes have these values
    why: str

    def holds_at(self, point: Mapping[str, str]) -> bool:
        """Return whether it is about the values of axes of a point."""
        return all(is_one_of(point.get(axis), values) for axis, values in self.when.items())


class FittedReading(Section):
    """A reading of the setting, or constants, that were chosen after looking at the printed numbers."""

    fitted: str  # what was chosen
    tried: PositiveInt | None = None  # the readings that were tried, with the chosen one
    constants: PositiveInt | None = None  # numbers that were fitted to printed ones
    why: str

    @model_validator(mode="after")
    def _says_how_freely(self) -> FittedReading:
        if self.tried is None and self.constants is None:
            raise fault("needs tried, how many readings were tried, or constants, how many numbers were fitted")
        return self


NumberKey = tuple[tuple[tuple[str, str], ...], str]


def number_key(point: Mapping[str, str], measure: str, dependent: tuple[Dependence, ...]) -> NumberKey:
    """Return what identifies a measured number among independent ones: its measure, and the axes that count."""
    kept = dict(point)
    for number, dependence in enumerate(dependent):
        if dependence.holds_at(point):
            for axis in dependence.over:
                kept[axis] = f"dependent {number}"  # no axis has such a value, and each dependence has its own
    return tuple(kept.items()), measure


def same_text(one: object, other: object) -> bool:
    """Return whether two values are equal as texts or as numbers: 0.10 in a table is 0.1 in a recipe."""
    if str(one) == str(other):
        return True
    try:
        return float(str(one)) == float(str(other))
    except ValueError:
        return False


def is_one_of(text: str | None, values: tuple[Any, ...]) -> bool:
    """Return whether a text equals one of some values; a missing text equals none."""
    return text is not None and any(same_text(text, value) for value in values)
