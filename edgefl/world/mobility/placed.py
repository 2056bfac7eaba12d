"""Maps and traces, laid over the cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.paths import DataPath
from edgefl.world.mobility.base import Area, Mobility

Within = Annotated[float, Field(ge=-1e9, le=1e9)]
Factor = Annotated[float, Field(ge=1e-9, le=1e9)]
Pair = Annotated[tuple[Within, Within], Field(strict=False)]


class Placed(Mobility):
    """Base of the models whose places come from a file."""

    keeps_min_distance: ClassVar[bool] = False

    path: DataPath
    scale: Factor = 1.0  # metres in the cell for each metre of the file
    centre: bool = False  # whether the middle of the file's extent comes to the base station
    offset_m: Pair = (0.0, 0.0)  # added last

    def placed_m(self, points: Floats) -> Floats:
        """The file's points [n, 2] in the cell."""
        middle = (points.min(axis=0) + points.max(axis=0)) / 2 if self.centre else 0.0
        return np.asarray((points - middle) * self.scale + np.array(self.offset_m))

    def fault(self, text: str, line: int | None = None) -> InputError:
        """An error about the file."""
        return InputError(f"mobility.path: {self.path}{f':{line}' if line else ''}: {text}")

    def check_reach(self, nearest_m: Sequence[float], area: Area) -> None:
        """Whether anything of the file comes into a cell; `nearest_m` [sites] is how near to each base station.

        Raises:
            InputError: nothing does.
        """
        if min(nearest_m) > area.disc_m:
            which = ("the base station", "the cell") if len(nearest_m) == 1 else ("any base station", "a cell")
            text = f"comes no nearer to {which[0]} than {min(nearest_m):.4g} m, {which[1]} ends at {area.disc_m:g} m"
            raise self.fault(f"{text}: set centre to true, or scale or offset_m")


def nearest_m(starts: Floats, ends: Floats) -> float:
    """Distance of (0, 0) from the nearest of the straight lines between points [n, 2]."""
    lines = ends - starts
    squares = np.maximum((lines**2).sum(axis=1), 1e-300)
    shares = np.clip(-(starts * lines).sum(axis=1) / squares, 0.0, 1.0)
    return float(np.hypot(*(starts + shares[:, None] * lines).T).min())
