"""Recipes: how to run a published table or figure again, as data.

A recipe is a YAML file, recipes/PAPER/ITEM.yaml. Its keys are the fields of `Recipe` below;
docs/reproductions/recipes.md explains them with an example. In short:

- `published`, `rows`, `left_out`, `columns`, `columns_as`, `rows_as`, `value` and `cell` name the printed number and
  the values of the axes of each cell.
- `base`, `set`, `axes`, `cases` and `seeds` define the runs: one for each combination of values that a cell needs, and
  each seed. `cases` override the axes, these override `set`, and a scale's `set` overrides all.
- `measures` are read off a finished run (readings.py), `relations` are computed from two runs of one seed
  (relations.py), and `compare` names the one to compare with a printed number.
- `tolerance` is the allowed difference, with its reason; `gap` names a known deviation.
- `misprinted`, `repeated`, `dependent`, `reading` and `no_evidence` limit what the numbers are worth (caveats.py).

A recipe that has `runs: PAPER/ITEM` takes runs and measures from that recipe, and adds cells and measures. One that has
`like: PAPER/ITEM` takes all keys of that recipe and overrides some.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from edgefl.core.section import Section, fault, fault_at, nearest
from edgefl.reproductions.caveats import (
    Dependence,
    FittedReading,
    PrintedCells,
    PrintedRows,
    Scalar,
    Scalars,
    same_text,
)
from edgefl.reproductions.figure import Figure, Texts
from edgefl.reproductions.readings import READINGS
from edgefl.reproductions.readings.base import Reading
from edgefl.reproductions.relations import RELATIONS, Relation
from edgefl.scenario.sweep_file import DottedKey

AxisName = str
AxisValue = str
Point = dict[AxisName, AxisValue]
"""A value for each axis, which with the seed identifies a run."""

Seeds = Annotated[tuple[NonNegativeInt, ...], Field(strict=False, min_length=1)]
Overrides = dict[DottedKey, Any]
ScaleName = Literal["full", "small"]
ScaleNames = Annotated[tuple[ScaleName, ...], Field(strict=False)]
RecipeName = Annotated[str, Field(pattern=r"^[\w-]+/[\w.-]+$")]

MEASURE = "measure"
"""In `columns_as` and `rows_as` not an axis, but the measure of a cell."""

BASE = "base"
"""In the value of an axis not a key of scenarios, but the scenario that replaces the recipe's base."""

RUN_KEYS = ("base", "set", "axes", "cases", "same", "seeds", "train", "apart")
"""The keys that define runs; a recipe with `runs` has none of them."""


class Tolerance(Section):
    """The allowed difference between measured means and printed numbers, with its reason; all limits must hold."""

    relative: PositiveFloat | None = None  # of the printed number: 0.25 is 25 %
    absolute: PositiveFloat | None = None  # in the unit of the printed number
    of_error: PositiveFloat | None = None  # of what a printed accuracy in per cent lacks to 100
    deviations: PositiveFloat | None = None  # so many of the standard deviations that are printed after ±
    trials: PositiveInt | None = None  # the number is a share of so many trials: three standard deviations of it
    orders: Texts = ()  # "FedSSG > FedAvg": columns from better to worse, within each row, of means over seeds
    by_measure: dict[str, Tolerance] = Field(default_factory=dict)  # for the cells of a measure, instead
    why: str

    @model_validator(mode="after")
    def _asks_something(self) -> Tolerance:
        if not self.asks_numbers and not self.orders and not self.by_measure:
            raise fault("asks nothing: give relative, absolute, of_error, deviations, trials, orders or by_measure")
        for number, order in enumerate(self.orders):
            if len([name for name in order.split(">") if name.strip()]) < 2:
                raise fault_at(("orders", number), f'must be two or more columns as in "A > B", got "{order}"')
        return self

    @property
    def asks_numbers(self) -> bool:
        """True if it limits numbers, not only orders."""
        limits = (self.relative, self.absolute, self.of_error, self.deviations, self.trials)
        return any(limit is not None for limit in limits)

    @property
    def uses_deviations(self) -> bool:
        """True if it is in printed standard deviations, for some measure."""
        return any(one.deviations is not None for one in (self, *self.by_measure.values()))

    def of(self, measure: str) -> Tolerance | None:
        """Return the tolerance of a measure's numbers; None if they are not limited."""
        tolerance = self.by_measure.get(measure, self)
        if not tolerance.asks_numbers:
            return None
        return tolerance

    def orders_alone(self) -> Tolerance | None:
        """Return the tolerance without limits of numbers; None if it asks for no order."""
        return Tolerance(orders=self.orders, why=self.why) if self.orders else None

    def limits(self, printed: float, deviation: float | None = None) -> list[float]:
        """Return the allowed differences from a printed number with a printed standard deviation, in its unit."""
        found = []
        if self.relative is not None:
            found.append(self.relative * abs(printed))
        if self.absolute is not None:
            found.append(self.absolute)
        if self.of_error is not None:
            found.append(self.of_error * (100.0 - printed))
        if self.deviations is not None and deviation is not None:
            found.append(self.deviations * deviation)
        if self.trials is not None:
            variance = max(printed * (1.0 - printed), 0.0) / self.trials
            found.append(3.0 * math.sqrt(variance))
        return found


class Case(Section):
    """Overrides for some combinations of axes' values."""

    when: dict[AxisName, Scalar | Scalars]  # a value, or one of several
    set: Overrides


class OtherMeasure(PrintedRows):
    """Measures that stand in some rows instead of those that their columns name."""

    measures: dict[str, str]  # the column's measure -> the one that stands there


class Scale(Section):
    """The differences between a smaller study and the whole one."""

    set: Overrides = Field(default_factory=dict)  # overrides everything else
    rows: dict[str, Scalars] = Field(default_factory=dict)
    axes: dict[AxisName, Scalars] = Field(default_factory=dict)  # only these values
    seeds: Seeds | None = None
    data: tuple[str | dict[str, Any], ...] | None = None
    tolerance: Tolerance | None = None
    numbers: bool = True  # false: of data or a size that keep numbers from being alike; only orders are compared
    gap: str | None = None


class Recipe(Section):
    """A recipe, as its file gives it."""

    title: str
    source: str  # paper and item
    covers: Texts = ()  # the printed items that it stands for
    data: tuple[str | dict[str, Any], ...] = ()  # datasets by name, or as in a scenario's section data
    # The printed numbers
    published: str | None = None  # a file of the folder published
    rows: dict[str, Scalars] = Field(default_factory=dict)  # which rows of it, by its columns
    left_out: Texts = ()  # columns of it that the recipe leaves out
    columns: str | None = None  # the axis whose values are the names of columns; or `measure`
    columns_as: dict[str, dict[str, Scalar]] = Field(default_factory=dict)  # column -> values of axes, or of `measure`
    rows_as: dict[str, dict[str, dict[str, Scalar]]] = Field(default_factory=dict)  # column -> its value -> as above
    measures_as: tuple[OtherMeasure, ...] = ()  # the rows where a column is another measure than `columns_as` says
    value: str | None = None  # the one column that holds numbers, instead of `columns` and `columns_as`
    cell: Literal["number", "first", "mean_std", "text"] = "number"  # 45; 45|1.00; 98.08±0.03; never compared
    # What is run
    runs: RecipeName | None = None
    base: str | None = None  # a scenario that comes with edgefl, or a file beside the recipe
    set: Overrides = Field(default_factory=dict)
    axes: dict[AxisName, dict[AxisValue, dict[str, Any]]] = Field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    same: dict[AxisName, dict[AxisValue, AxisValue]] = Field(
        default_factory=dict
    )  # a value -> the one whose runs it shares
    seeds: Seeds = (1,)
    train: bool = True  # false: only price the world
    apart: bool = False  # a process for each run, without shared learning: for processor time and memory
    # What is read off, and how it is judged
    measures: dict[str, Annotated[Reading, READINGS]] = Field(default_factory=dict)
    relations: dict[str, Annotated[Relation, RELATIONS]] = Field(default_factory=dict)  # measures between two runs
    compare: str | None = None  # the measure of cells that name none; the first one if not given
    tolerance: Tolerance | None = None
    gap: str | None = None
    # What limits the worth of the printed numbers, or of an agreement with them
    misprinted: tuple[PrintedCells, ...] = ()  # shown, and never compared
    repeated: tuple[PrintedCells, ...] = ()  # whose numbers another row prints, too, and which count there
    dependent: tuple[Dependence, ...] = ()  # numbers that count once
    reading: FittedReading | None = None  # chosen after looking at the printed numbers
    no_evidence: str | None = None  # why an agreement with the printed numbers says nothing
    learns: bool = True  # false: `edgefl reproduce --check` runs it
    check: bool | Literal["small"] = False  # `edgefl reproduce --check` runs it although it learns, whole or small
    scales: dict[ScaleName, Scale] = Field(default_factory=dict)
    not_at: ScaleNames = ()  # scales of the other recipe that this one lacks
    figure: Figure | None = None  # drawn of what was measured

    @property
    def measure_names(self) -> list[str]:
        """The names of all measures, of one run and between two."""
        return [*self.measures, *self.relations]

    @property
    def checked(self) -> bool:
        """True if `edgefl reproduce --check` runs it."""
        return bool(self.check) or not self.learns

    @property
    def checked_scale(self) -> ScaleName:
        """The scale at which `edgefl reproduce --check` runs it."""
        return "small" if self.check == "small" else "full"

    @property
    def scale_names(self) -> list[ScaleName]:
        """The scales at which it can be run, the whole one first."""
        return list(dict.fromkeys(("full", *self.scales)))

    @model_validator(mode="after")
    def _runs_something(self) -> Recipe:
        given = [key for key in RUN_KEYS if key in self.model_fields_set]
        if self.runs is not None and given:
            raise fault_at((given[0],), f"stands in {self.runs}, whose runs this recipe takes: leave it out")
        if self.runs is None and self.base is None:
            based = [all(BASE in keys for keys in values.values()) for values in self.axes.values()]
            if not any(based):
                raise fault("needs a base, the scenario of all runs; or runs, another recipe whose runs it takes")
        if self.runs is None and not self.measures:
            raise fault("needs measures, which are read off each run")
        return self

    @model_validator(mode="after")
    def _scales_are_the_other_ones(self) -> Recipe:
        if self.not_at and self.runs is None:
            raise fault_at(("not_at",), "is about the scales of another recipe, whose runs one takes: leave it out")
        if "full" in self.not_at:
            raise fault_at(("not_at",), "full: a recipe has its whole scale; leave it out")
        for name in self.not_at:
            if name in self.scales:
                raise fault_at(("not_at",), f"{name} stands under scales, too: leave one out")
        return self

    @model_validator(mode="after")
    def _check_has_a_scale(self) -> Recipe:
        if self.check == "small" and "small" not in self.scales:
            raise fault_at(("check",), "scales has no small: set check to true, or add it")
        return self

    @model_validator(mode="after")
    def _axes_are_known(self) -> Recipe:
        if self.runs is not None:
            return self  # the other recipe has them
        for number, case in enumerate(self.cases):
            for axis, wanted in case.when.items():
                self._check_values(("cases", number, "when", axis), axis, as_tuple(wanted))
        for name, scale in self.scales.items():
            for axis, wanted in scale.axes.items():
                self._check_values(("scales", name, "axes", axis), axis, wanted)
        for axis, pairs in self.same.items():
            for value, other in pairs.items():
                self._check_values(("same", axis, value), axis, (other,))
                if value in self.axes[axis]:
                    raise fault_at(("same", axis, value), f"stands under axes.{axis}, too: leave one out")
        return self

    def _check_values(self, place: tuple[str | int, ...], axis: str, values: tuple[Scalar, ...]) -> None:
        if axis not in self.axes:
            raise fault_at(place, f"is not an axis{nearest(axis, self.axes)}; axes: {', '.join(self.axes) or 'none'}")
        for value in values:
            if find_value(value, self.axes[axis]) is None:
                known = ", ".join(self.axes[axis])
                raise fault_at(
                    place, f"{value} is not a value of {axis}{nearest(value, self.axes[axis])}; values: {known}"
                )

    @model_validator(mode="after")
    def _cells_are_readable(self) -> Recipe:
        about_file = (
            self.rows,
            self.left_out,
            self.columns_as,
            self.rows_as,
            self.value,
            self.measures_as,
            self.misprinted,
            self.repeated,
        )
        if self.published is None and any(about_file):
            keys = "rows, left_out, columns_as, rows_as, value, measures_as, misprinted and repeated"
            text = f"is required: {keys} are about its file"
            raise fault_at(("published",), text)
        if self.value is not None and (self.columns is not None or self.columns_as):
            raise fault_at(("value",), "stands instead of columns and columns_as: leave it out, or these")
        tolerances = [self.tolerance, *(scale.tolerance for scale in self.scales.values())]
        if self.cell != "mean_std" and any(one is not None and one.uses_deviations for one in tolerances):
            raise fault_at(
                ("cell",), "must be mean_std, as the tolerance is in printed standard deviations (98.08±0.03)"
            )
        if self.published is not None and not (self.value or self.columns or self.columns_as):
            raise fault_at(("columns",), f"is required: which columns of {self.published} hold numbers")
        return self


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a value in a tuple, and a tuple unchanged."""
    if isinstance(value, tuple):
        return value
    return (value,)


def find_value(value: object, names: dict[str, Any]) -> str | None:
    """Return the name that equals a value; None if there is none."""
    return next((name for name in names if same_text(value, name)), None)
