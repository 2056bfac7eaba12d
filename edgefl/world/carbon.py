"""Carbon intensity of electricity: a number, or a series over time."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from edgefl.core.arrays import Floats
from edgefl.core.data_files import NotReadable, faults_in, number_in, timed_rows
from edgefl.core.errors import InputError
from edgefl.core.paths import DataFile
from edgefl.core.section import IF_GIVEN, Section, fault_at

J_A_KWH = 3.6e6
LARGEST_G_KWH = 1e5

GramsAKwh = Annotated[float, Field(ge=0, le=LARGEST_G_KWH)]


class CarbonIntensity(Section):
    """Grams of CO2 equivalent for each kilowatt-hour: a number, or {file: grid.csv} with time_s and g_kwh."""

    g_kwh: Annotated[GramsAKwh | None, IF_GIVEN] = None  # The same at all times.
    # CSV file with time_s and g_kwh; each row holds until the next one.
    file: Annotated[DataFile | None, IF_GIVEN] = None
    column: str = "g_kwh"  # Column of the grams.
    # Virtual time of the first row.
    time_offset_s: Annotated[float, Field(ge=-1e9, le=1e9)] = 0.0

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.g_kwh is None) == (self.file is None):
            raise fault_at(("file",), "must be given without g_kwh, or write a number of grams for each kilowatt-hour")
        return self

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.g_kwh is not None:
            return self.g_kwh
        return handler(self)

    def grams(self, energy_j: Floats, since_s: Floats, until_s: Floats) -> Floats:
        """Return the grams [n] of energies [n] that are spent evenly between two times [n].

        Raises:
            InputError: the file cannot be read, or is wrong.
        """
        return energy_j / J_A_KWH * self._mean_g_kwh(since_s, until_s)

    def _mean_g_kwh(self, since_s: Floats, until_s: Floats) -> Floats:
        """Return the mean intensities [n] between two times [n]; where they are equal, that of the time."""
        if self.g_kwh is not None:
            return np.full(len(since_s), self.g_kwh)
        times_s, g_kwh = self.series()
        lasted_s = until_s - since_s
        between = _integral(times_s, g_kwh, until_s) - _integral(times_s, g_kwh, since_s)
        at_once = g_kwh[np.maximum(np.searchsorted(times_s, since_s, side="right") - 1, 0)]
        return np.divide(between, lasted_s, out=at_once, where=lasted_s > 0)

    def series(self) -> tuple[Floats, Floats]:
        """Return the virtual times [n] of the file's rows, ascending, and their intensities [n].

        Raises:
            InputError: the file cannot be read, or is wrong.
        """
        if self.file is None:
            return np.zeros(1), np.array([self.g_kwh])
        with faults_in(self.file):
            times_s, g_kwh = _read(self.file, self.column, self.file.stat().st_mtime_ns)
        return times_s - times_s[0] + self.time_offset_s, g_kwh

    def check(self) -> str | None:
        """Return why the file cannot be used; None if it can."""
        try:
            self.series()
        except InputError as error:
            return str(error)
        return None


def _by_number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"g_kwh": value}
    return value


Carbon = Annotated[CarbonIntensity, BeforeValidator(_by_number, json_schema_input_type=GramsAKwh | CarbonIntensity)]


def _integral(times_s: Floats, values: Floats, until_s: Floats) -> Floats:
    """Return the integrals [n] of a series from its first time to others [n]; negative before it."""
    row = np.maximum(np.searchsorted(times_s, until_s, side="right") - 1, 0)
    before = np.concatenate([[0.0], np.cumsum(np.diff(times_s) * values[:-1])])
    return np.asarray(before[row] + (until_s - times_s[row]) * values[row])


@lru_cache(maxsize=16)
def _read(path: Path, column: str, changed_ns: int) -> tuple[Floats, Floats]:
    """Return the times [n] and intensities [n] of a file; it is read again if it has changed."""
    rows: list[tuple[float, float]] = []
    for row in timed_rows(path, ("time_s",), ("time_s", column)):
        time_s = number_in(row, "time_s")
        g_kwh = number_in(row, column, least=0.0, most=LARGEST_G_KWH)
        if rows and time_s <= rows[-1][0]:
            raise NotReadable(f"time_s: must be later than the row above, got {row.as_written('time_s')}", row.line)
        rows.append((time_s, g_kwh))
    if not rows:
        raise NotReadable("has no rows below its header")
    times_s, values = np.array(rows).T
    return times_s, values
