"""Columns that the selection or the allocation of a scenario adds to results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.returns import Array, Instance, called, check, is_trusted, wrong
from edgefl.records.added_columns import AddsColumns
from edgefl.server.observer import DeviceColumns, EndedRound, Observer, RoundColumns


@dataclass(eq=False)
class AddedColumns(Observer):
    """Asks a member for its columns when a round ends."""

    member: AddsColumns
    memory_of: Callable[[Ids], Floats]  # returns the member's memory [n, k] of devices [n]

    def added_device_columns(self, devices: DeviceColumns) -> DeviceColumns:
        """Return the member's columns of participations [n]."""
        if not self.member.device_columns:
            return {}
        given = self._given("columns_of_devices", devices)
        count = len(devices["device"])
        names = [column.name for column in self.member.device_columns]
        if not is_trusted(self.member) and given.keys() != set(names):
            got = f"the columns {', '.join(given) or 'nothing'}"
            raise wrong(self.member, "columns_of_devices", got, f"{', '.join(names)} (its device_columns)")
        for name in names:
            # NaN is an empty cell.
            values = np.nan_to_num(given[name]) if isinstance(given[name], np.ndarray) else given[name]
            check(self.member, "columns_of_devices", values, Array((count,), f"{name} [n]"))
        return {name: np.asarray(given[name], dtype=np.float64) for name in names}

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the member's columns of a round."""
        if not self.member.round_columns:
            return {}
        given = self._given("columns", ended.devices)
        names = [column.name for column in self.member.round_columns]
        for name, value in given.items():
            if name not in names or not (value is None or isinstance(value, float | int | np.number)):
                must = f"a mapping of {', '.join(names)} (its round_columns) to numbers or None"
                raise wrong(self.member, "columns", f"{value!r} for {name}", must)
        return {name: value for name, value in given.items() if value is not None}

    def _given(self, hook: str, devices: DeviceColumns) -> Mapping[str, Any]:
        must = Instance(Mapping, "a mapping of columns to values")
        given: Mapping[str, Any] = called(getattr(self.member, hook), must, devices, self.memory_of(devices["device"]))
        return given
