"""Members that may add columns to rounds.csv and devices.csv; a reader takes their values for numbers."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member
from edgefl.records.columns import ResultColumn
from edgefl.records.quantities import Quantity

DeviceRows = Mapping[str, npt.NDArray[Any]]
"""Participations [n] that ended in a round, as columns of devices.csv: `devices["upload_s"]` is [n]."""


class AddsColumns(Member):
    """A member that may add columns; by default it adds none."""

    round_columns: ClassVar[tuple[ResultColumn, ...]] = ()
    """The columns that it adds to rounds.csv: numbers."""

    device_columns: ClassVar[tuple[ResultColumn, ...]] = ()
    """The columns that it adds to devices.csv: numbers."""

    quantities: ClassVar[tuple[Quantity, ...]] = ()
    """The quantities of a whole run that its columns of rounds.csv add up to (`Quantity.sums`)."""

    def columns(self, devices: DeviceRows, memory: Floats) -> Mapping[str, float | None]:
        """Return the columns of a round that ends, by their names; None: an empty cell.

        Its participations are by `devices` [n]; a selection chose them by their memory [n, k], or [n, 0] without one.
        """
        return {}

    def columns_of_devices(self, devices: DeviceRows, memory: Floats) -> Mapping[str, Floats]:
        """Return the columns [n] of participations, by their names; nan: an empty cell; the arguments as above."""
        return {column.name: np.full(len(memory), np.nan) for column in self.device_columns}
