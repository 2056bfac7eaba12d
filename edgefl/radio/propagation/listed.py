"""Path losses that were measured, or that a paper lists."""

from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo

from channel import free_space
from channel.tr38901 import LOS
from edgefl.core.arrays import Floats
from edgefl.core.distributions import ColumnDistribution, read_column
from edgefl.core.errors import InputError
from edgefl.core.section import fault
from edgefl.radio.propagation.base import Decibels, LargeScale, PathDraws, Propagation


def _read_file(value: Any, info: ValidationInfo) -> Any:
    """Return the numbers of the column that `{file: losses.csv, column: loss_db}` names; a list is unchanged."""
    if not isinstance(value, dict):
        return value
    source = ColumnDistribution.model_validate(value, context=info.context)
    try:
        return tuple(read_column(source.file, source.column).tolist())
    except InputError as error:
        raise fault(str(error)) from None


# The scenario in a run's folder has the numbers of the file, so that it is complete without it.
Losses = Annotated[
    tuple[Decibels, ...],
    Field(strict=False, min_length=1),
    BeforeValidator(_read_file, json_schema_input_type=list[Decibels] | ColumnDistribution),
]


class Listed(Propagation):
    """Listed: each device has a measured or published path loss, wherever it is (no shadowing)."""

    # Path loss of each device as [98.5, 104.2, ..], in the order of their numbers; or {file: x.csv, column: name}.
    path_loss_db: Losses

    label: ClassVar[str] = "listed"
    by_device: ClassVar[bool] = True

    def physics(self) -> ModuleType:
        """Return `channel.free_space`, which also has no shadowing and no limits."""
        return free_space

    def check_population(self, devices: int, cells: int) -> str | None:
        """Return which devices or cells have no path loss; None if all have one."""
        if cells > 1:
            return f"lists path losses to one cell, the scenario has {cells}: take another model, or a single cell"
        if devices > len(self.path_loss_db):
            listed = f"path losses of {len(self.path_loss_db)} devices"
            return f"lists {listed}, the scenario has {devices}: add some, or lower devices.count"
        return None

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel; nothing is drawn.

        Raises:
            ValueError: the paths lead to places without a listed loss.
        """
        if draws.device is None:
            raise ValueError("path losses are listed for devices, not for places")
        loss = np.array(self.path_loss_db)[draws.device]
        loss = np.broadcast_to(loss, np.broadcast_shapes(loss.shape, np.shape(distance_2d_m)))
        # A list has no states: every path counts as in line of sight.
        return self.by_state(LOS, np.ones(loss.shape, dtype=bool), loss)
