"""The base of all readings, and how their values become columns."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from edgefl.core.catalogue import Member
from edgefl.core.errors import InputError
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.results.csv_format import csv_cell

Value = float | int | str | None
Values = Mapping[str, Value]  # by the ending of the column
Better = Literal["higher", "lower"]
Fraction = Annotated[float, Field(gt=0, le=1)]

LOWER_IS_BETTER = re.compile(r"loss|distance|gradient_norm|_(s|j|bits)$")  # names of columns of rounds.csv
STD = "_std"  # the ending of the column with a value's standard deviation within the run


class Reading(Member):
    """Base of all readings."""

    better: ClassVar[Better] = "higher"  # which of two values is the better one, for a recipe's orders
    is_input: ClassVar[bool] = False  # it reads what the run was given, so agreement with print measures nothing

    @property
    def direction(self) -> Better:
        """Return which of two values of this measure is the better one."""
        return self.better

    def read(self, run: FinishedRun) -> Values:
        """Return the values of a run.

        Raises:
            InputError: the run lacks them, or its folder is damaged.
        """
        raise NotImplementedError


class AccuracyReading(Reading):
    """Base of readings that return accuracies."""

    percent: bool = True

    @property
    def unit(self) -> float:
        """The factor for an accuracy from 0 to 1."""
        if self.percent:
            return 100.0
        return 1.0


def numbers_of(text: str) -> list[float]:
    """Return the numbers of a curve that a reading returned as text."""
    # In CSV files a text that begins with a minus sign is quoted for spreadsheets.
    return [float(number) for number in text.removeprefix("'").split()]


def columns_of(name: str, values: Values) -> dict[str, str]:
    """Return the values of a measure by their columns, as texts of a CSV file."""
    return {f"{name}{ending}": _text(value) for ending, value in values.items()}


def _text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.8g}" if np.isfinite(value) else ""  # enough to compare, without a machine's noise
    return csv_cell(value)


def orders_better(better: Better, values: Sequence[float]) -> bool:
    """Return whether values go from better to worse."""
    pairs = itertools.pairwise(values)
    if better == "lower":
        return all(first < second for first, second in pairs)
    return all(first > second for first, second in pairs)


def check_tested(run: FinishedRun) -> None:
    """Refuse a run without test accuracies."""
    if not run.curve.tests.size:
        raise InputError(f"{run.folder}: has no test accuracy; a recipe that reads it must learn")
