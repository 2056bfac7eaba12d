"""The plan of a recipe at a scale: its printed cells, and the runs that they need.

A plan loads no scenario; `scenarios.py` loads and checks them.
"""

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.section import KeyPath, nearest
from edgefl.reproductions.caveats import PrintedRows, is_one_of, same_text
from edgefl.reproductions.library import Entry, Library
from edgefl.reproductions.published import Printed, Table, TableRow, printed, read_table
from edgefl.reproductions.readings.base import Reading
from edgefl.reproductions.recipe import (
    MEASURE,
    Point,
    Recipe,
    Scale,
    ScaleName,
    Tolerance,
    find_value,
)
from edgefl.reproductions.relations import Relation

MOST_LABEL_CHARACTERS = 80  # of a folder's name


class PlannedCell(NamedTuple):
    """A cell of the table: its place, its printed number, and the runs that it needs."""

    row: Mapping[str, str]  # the labels of its row, by the columns of the printed table
    column: str
    measure: str
    point: Point
    published: Printed | None  # None where nothing is printed


class PlannedRun(NamedTuple):
    """One run."""

    point: Point
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        """The point and the seed, unique to the run."""
        return (*self.point.values(), str(self.seed))

    @property
    def label(self) -> str:
        """The name of its point's folder."""
        text = ",".join(f"{axis}={value}" for axis, value in self.point.items()) or "run"
        name = re.sub(r"[^\w.,=+-]", "_", text)
        if len(name) > MOST_LABEL_CHARACTERS or name != text:  # two points could have the same name
            digest = hashlib.sha256(text.encode()).hexdigest()[:8]
            name = f"{name[: MOST_LABEL_CHARACTERS - 9]}-{digest}"
        return name

    @property
    def place(self) -> Path:
        """Its result folder, below that of all runs."""
        return Path(self.label) / f"seed-{self.seed}"


@dataclass(frozen=True)
class Plan:
    """A recipe at a scale."""

    entry: Entry
    scale: ScaleName
    cells: tuple[PlannedCell, ...]
    seeds: tuple[int, ...]
    data: tuple[str | dict[str, Any], ...]
    tolerance: Tolerance | None
    gap: str | None

    @property
    def recipe(self) -> Recipe:
        """The recipe."""
        return self.entry.recipe

    @property
    def axes(self) -> list[str]:
        """The names of the axes, in the order of the recipe."""
        return list(self.recipe.axes)

    @cached_property
    def points(self) -> list[Point]:
        """The combinations of values that cells and their relations need."""
        needed = {tuple(cell.point.values()): cell.point for cell in self.cells}
        for cell in self.cells:
            if cell.measure in self.recipe.relations:
                other = self.related_point(cell)
                needed.setdefault(tuple(other.values()), other)
        return list(needed.values())

    def related_point(self, cell: PlannedCell) -> Point:
        """Return the point of the other run of a cell's relation."""
        recipe = self.recipe
        point = dict(cell.point)
        for axis, value in recipe.relations[cell.measure].to.items():
            name = find_value(value, recipe.axes[axis]) or str(value)
            point[axis] = recipe.same.get(axis, {}).get(name, name)
        return point

    def needed_measures(self, key: tuple[str, ...]) -> set[str]:
        """Return the measures that cells need from the run with a key."""
        return self._needed_measures.get(key[:-1], set())

    @cached_property
    def _needed_measures(self) -> dict[tuple[str, ...], set[str]]:
        """The measures that cells need, by the values of the axes of a run."""
        needed: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for cell in self.cells:
            measure = cell.measure
            if measure in self.recipe.relations:
                measure = self.recipe.relations[measure].measure
                needed[tuple(self.related_point(cell).values())].add(measure)
            needed[tuple(cell.point.values())].add(measure)
        return needed

    @property
    def runs(self) -> list[PlannedRun]:
        """All runs, seed by seed, so that an interrupted study soon has all cells."""
        return [PlannedRun(point, seed) for seed in self.seeds for point in self.points]

    def reading(self, measure: str) -> Reading | Relation:
        """Return the reading or relation of a measure."""
        return self.recipe.measures.get(measure) or self.recipe.relations[measure]


def plan(library: Library, entry: Entry, scale: ScaleName, seeds: int | None = None) -> Plan:
    """Return the plan of a recipe.

    Args:
        library: the recipe's library.
        entry: the recipe.
        scale: one of its scales.
        seeds: how many; beyond the recipe's they count up from the greatest one. None: the recipe's.

    Raises:
        InputError: the recipe has no such scale, or its keys contradict its table.
    """
    recipe = entry.recipe
    if scale not in recipe.scale_names:
        known = ", ".join(recipe.scale_names)
        raise InputError(f"{entry.name}: has no scale {scale}; it has {known}")
    chosen = recipe.scales.get(scale, Scale())
    cells = tuple(_Cells(library, entry, scale, chosen).all())
    if not cells:
        place: tuple[str, ...] = ("rows",)
        if scale in recipe.scales:
            place = ("scales", scale)
        table = recipe.published or "its axes"
        raise InputError(entry.source.fault(place, f"scale {scale} has no rows: no row of {table} has these values"))
    listed = chosen.seeds or recipe.seeds
    if seeds is not None:
        listed = _first(listed, seeds)
    data = recipe.data
    if chosen.data is not None:  # an empty list is one, too
        data = chosen.data
    tolerance = chosen.tolerance or recipe.tolerance
    if tolerance is not None and not chosen.numbers:
        tolerance = tolerance.orders_alone()
    return Plan(entry, scale, cells, listed, data, tolerance, chosen.gap or recipe.gap)


def _first(seeds: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return `count` seeds; beyond the listed ones they count up from the greatest one."""
    if count < 1:
        raise InputError(f"--seeds {count}: must be >= 1")
    more = range(max(seeds) + 1, max(seeds) + 1 + max(0, count - len(seeds)))
    return (*seeds, *more)[:count]


class _Cells:
    """The cells of a recipe at a scale."""

    def __init__(self, library: Library, entry: Entry, name: ScaleName, scale: Scale) -> None:
        self._entry = entry
        self._recipe = entry.recipe
        self._name = name
        self._scale = scale
        self._table: Table | None = None
        if entry.recipe.published is not None:
            self._table = self._without_left_out(read_table(library.published(entry.recipe.published)))

    def _check_known(self, place: KeyPath, name: object, known: Collection[str], what: str) -> None:
        """Refuse a name that the recipe does not define."""
        if name not in known:
            text = f"{name} is not {what}{nearest(name, known)}; known: {', '.join(known)}"
            raise self._fault(place, text)

    def _check_column(self, place: KeyPath, name: str, table: Table) -> None:
        """Refuse a column that the printed table lacks."""
        if name not in table.header:
            text = f"{table.file} has no column {name}{nearest(name, table.header)}"
            raise self._fault(place, f"{text}; columns: {', '.join(table.header)}")

    def _without_left_out(self, table: Table) -> Table:
        for column in self._recipe.left_out:
            self._check_column(("left_out",), column, table)
        return table.without(self._recipe.left_out)

    def all(self) -> Iterator[PlannedCell]:
        """Yield all cells, row by row; refuse unknown columns, axes and measures, and cells without a number."""
        self._check_relations()
        self._check_measures_as()
        columns = self._columns()
        self._check_caveats(columns)
        for row in self._rows():
            given = self._of_row(row, columns)
            if given is None:
                continue
            for column, of_column in columns.items():
                yield from self._of_cell(row, column, {**given, **of_column}, columns)

    def _of_cell(
        self, row: TableRow, column: str, given: Mapping[str, Any], columns: Mapping[str, Any]
    ) -> Iterator[PlannedCell]:
        """Yield the cells of a row and column: one for each value of the axes that neither of them names."""
        measure = str(given.get(MEASURE) or self._recipe.compare or next(iter(self._recipe.measures)))
        self._check_known(("compare",), measure, self._recipe.measure_names, "a measure")
        measure = self._measure_here(measure, row)
        published = None
        if self._table is not None:
            try:
                published = printed(row[column], self._recipe.cell)
            except ValueError as error:
                raise self._fault(("cell",), f"{self._table.file}, {column}: {error}") from None
            for entry in self._recipe.misprinted:
                if entry.has(row, column):
                    published = Printed(row[column], misprint=entry.why)
            if any(entry.has(row, column) for entry in self._recipe.repeated):
                published = published._replace(repeated=True)
        choices: list[list[str]] = []
        for axis in self._recipe.axes:
            values = list(self._recipe.axes[axis])
            if axis in given:
                values = [name for name in self._names(axis) if same_text(given[axis], name)][:1]
            choices.append([value for value in values if self._is_run(axis, value)])
        labels = {name: text for name, text in row.items() if name not in columns}
        for combination in itertools.product(*choices):
            point = dict(zip(self._recipe.axes, combination, strict=True))
            more = {axis: value for axis, value in point.items() if axis not in given and axis not in labels}
            yield PlannedCell({**labels, **more}, column, measure, self._shared(point), published)

    def _measure_here(self, measure: str, row: TableRow) -> str:
        """Return the measure that stands in a row for the one that its column names, usually that one itself."""
        for other in self._recipe.measures_as:
            if measure in other.measures and other.has_row(row):
                return other.measures[measure]
        return measure

    def _check_measures_as(self) -> None:
        """Refuse other measures of rows that the printed table lacks, and unknown measures."""
        for number, other in enumerate(self._recipe.measures_as):
            self._check_rows(("measures_as", number), other)
            for name in (*other.measures, *other.measures.values()):
                self._check_known(("measures_as", number, "measures"), name, self._recipe.measure_names, "a measure")

    def _check_relations(self) -> None:
        """Refuse relations of unknown measures, or to unknown values of axes."""
        for name, relation in self._recipe.relations.items():
            self._check_known(("relations", name, "measure"), relation.measure, self._recipe.measures, "a measure")
            self._check_axes(("relations", name, "to"), relation.to)

    def _check_caveats(self, columns: Mapping[str, Any]) -> None:
        """Refuse remarks about rows or columns that the printed table lacks, and about unknown axes."""
        recipe = self._recipe
        for key, remarks in (("misprinted", recipe.misprinted), ("repeated", recipe.repeated)):
            for number, remark in enumerate(remarks):
                self._check_rows((key, number), remark)
                for column in remark.columns:
                    self._check_known((key, number, "columns"), column, columns, "a column with numbers")
        for number, dependence in enumerate(recipe.dependent):
            for axis in dependence.over:
                self._check_known(("dependent", number, "over"), axis, recipe.axes, "an axis")
            for axis, values in dependence.when.items():
                for value in values:
                    self._check_axes(("dependent", number, "when"), {axis: value})

    def _check_rows(self, place: KeyPath, rows: PrintedRows) -> None:
        """Refuse unknown columns, and values that no row of the printed table has."""
        table = self._table
        if table is None:
            return  # a recipe without a table names none of its rows
        for column in rows.when:
            self._check_column((*place, "when", column), column, table)
        if not any(rows.has_row(row) for row in table.rows):
            raise self._fault((*place, "when"), f"no row of {table.file} has these values")

    def _columns(self) -> dict[str, Mapping[str, Any]]:
        """Return the columns with numbers, each with the values of axes, or the measure, that it stands for."""
        recipe = self._recipe
        header: tuple[str, ...] = ()
        if self._table is not None:
            header = self._table.header
        columns: dict[str, Mapping[str, Any]] = {}
        if recipe.value is not None:
            columns[recipe.value] = {}
        if recipe.columns is not None:
            names = self._names(recipe.columns)
            # Other values of the axis may be columns of the table.
            columns |= {name: {recipe.columns: name} for name in names if self._table is None or name in header}
        columns |= recipe.columns_as
        for name in columns:
            if self._table is not None:
                self._check_column(("columns_as", name), name, self._table)
        for name, given in columns.items():
            self._check_axes(("columns_as", name), given)
        if self._table is not None:
            columns = {name: columns[name] for name in header if name in columns}  # as printed
        return columns or {"": {}}

    def _names(self, axis: str) -> list[str]:
        """Return the values of an axis, including those that share runs; or the measures."""
        if axis == MEASURE:
            return self._recipe.measure_names
        self._check_known(("columns",), axis, self._recipe.axes, "an axis")
        return [*self._recipe.axes[axis], *self._recipe.same.get(axis, {})]

    def _rows(self) -> Iterator[TableRow]:
        """Yield the recipe's rows of the table, or, without a table, one for each combination of values."""
        recipe = self._recipe
        if self._table is None:
            by_row = {axis: self._names(axis) for axis in recipe.axes if axis != recipe.columns}
            for axis, names in by_row.items():
                # A recipe without a table may share runs with one whose printed rows a scale cuts down.
                kept = self._scale.rows.get(axis, names)
                by_row[axis] = [name for name in names if is_one_of(name, tuple(kept))]
            for values in itertools.product(*by_row.values()):
                yield dict(zip(by_row, values, strict=True))
            return
        wanted = [*recipe.rows.items(), *self._scale.rows.items()]
        for column, _ in (*wanted, *recipe.rows_as.items()):
            self._check_column(("rows", column), column, self._table)
        for row in self._table.rows:
            if all(is_one_of(row[column], values) for column, values in wanted):
                yield row

    def _of_row(self, row: TableRow, columns: Mapping[str, Any]) -> dict[str, Any] | None:
        given: dict[str, Any] = {}
        for column, text in row.items():
            if column in columns:
                continue
            if column in self._recipe.rows_as:
                meanings = self._recipe.rows_as[column]
                name = find_value(text, meanings)
                if name is None:
                    return None
                self._check_axes(("rows_as", column, name), meanings[name])
                given |= meanings[name]
            elif column in self._recipe.axes:
                name = find_value(text, dict.fromkeys(self._names(column)))
                if name is None:
                    return None
                given[column] = name
        return given

    def _check_axes(self, place: KeyPath, given: Mapping[str, Any]) -> None:
        for axis, value in given.items():
            if axis == MEASURE:
                continue
            self._check_known((*place, axis), axis, self._recipe.axes, "an axis")
            if find_value(value, dict.fromkeys(self._names(axis))) is None:
                known = ", ".join(self._names(axis))
                raise self._fault((*place, axis), f"{value} is not a value of {axis}; values: {known}")

    def _is_run(self, axis: str, value: str) -> bool:
        return axis not in self._scale.axes or is_one_of(value, self._scale.axes[axis])

    def _shared(self, point: Point) -> Point:
        return {axis: self._recipe.same.get(axis, {}).get(value, value) for axis, value in point.items()}

    def _fault(self, path: KeyPath, text: str) -> InputError:
        return InputError(self._entry.source.fault(path, text))
