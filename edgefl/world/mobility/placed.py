"""Maps and traces from files, laid over the cell."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Floats
from edgefl.core.data_files import faults_in
from edgefl.core.errors import InputError, Unavailable
from edgefl.core.paths import DataFile
from edgefl.world.mobility.area import LEAST_SQUARE_M2, Area
from edgefl.world.mobility.base import Mobility

EARTH_RADIUS_M = 6_371_008.8  # mean radius (IUGG)
LEAST_EXTENT_M = 1.0  # of a map, or of a trace whose devices move: less is another unit than metres
Shift = Annotated[float, Field(ge=-1e9, le=1e9)]  # metres or seconds
Factor = Annotated[float, Field(ge=1e-9, le=1e9)]
Coordinates = Annotated[tuple[Shift, Shift], Field(strict=False)]


class Placed(Mobility):
    """Base class of the models whose positions come from a file."""

    keeps_min_distance: ClassVar[bool] = False

    path: DataFile  # The file with streets or positions.
    scale: Factor = 1.0  # Metres in the cell for each metre of the file.
    centre: bool = False  # Whether the middle of the file's extent comes to the base station.
    offset_m: Coordinates = (0.0, 0.0)  # Offset that is added last.

    def placed_m(self, points: Floats) -> Floats:
        """Return the file's points [n, 2] in the cell."""
        middle = 0.0
        if self.centre:
            middle = (points.min(axis=0) + points.max(axis=0)) / 2
        return np.asarray((points - middle) * self.scale + np.array(self.offset_m))

    @contextmanager
    def reading(self, file: Path | None = None) -> Iterator[None]:
        """Turn faults of the file, or of one of the folder's files, into errors for the user.

        Raises:
            Unavailable: the file is not on this machine.
            InputError: it is wrong.
        """
        with faults_in(f"mobility.path: {file or self.path}"):
            try:
                yield
            except FileNotFoundError:
                text = "not found there, nor in the folder that EDGEFL_DATA names, nor in ~/.cache/edgefl"
                raise Unavailable(*self.fault(text).faults) from None

    def fault(self, text: str, line: int | None = None, file: Path | None = None) -> InputError:
        """Return an error about the file, or about one of the folder's files."""
        place = file or self.path
        if line is not None:
            return InputError(f"mobility.path: {place}:{line}: {text}")
        return InputError(f"mobility.path: {place}: {text}")

    def check_reach(self, starts: Floats, ends: Floats, area: Area) -> None:
        """Check that one of the straight lines between points [n, 2] comes into a cell.

        Raises:
            InputError: none does.
        """
        nearest_m = min(_nearest_m(starts - site, ends - site) for site in np.array(area.sites_m))
        if nearest_m <= area.disc_m:
            return
        text = f"comes no nearer to a base station than {nearest_m:.4g} m, a cell ends at {area.disc_m:g} m"
        raise self.fault(f"{text}: set centre to true, or scale or offset_m")


def projected_m(points: Floats, origin: tuple[float, float] | None) -> tuple[Floats, tuple[float, float]]:
    """Return longitudes and latitudes [n, 2] in metres on the plane that touches the Earth in the origin, and that.

    x = R cos(lat0) (lon - lon0), y = R (lat - lat0), with angles in radians and the Earth's mean radius R, for the
    origin [latitude, longitude], by default the mean of the points.
    """
    if origin is None:
        longitude, latitude = points.mean(axis=0).tolist()
    else:
        latitude, longitude = origin
    shrink = np.array([np.cos(np.radians(latitude)), 1.0])  # circles of latitude are shorter than the equator
    plane_m = np.radians(points - [longitude, latitude]) * EARTH_RADIUS_M * shrink
    return np.asarray(plane_m), (latitude, longitude)


def _nearest_m(starts: Floats, ends: Floats) -> float:
    """Return the distance of (0, 0) from the nearest of the straight lines between points [n, 2]."""
    lines = ends - starts
    squares = np.maximum((lines**2).sum(axis=1), LEAST_SQUARE_M2)
    # The part of each line at which it is nearest to (0, 0).
    shares = np.clip(-(starts * lines).sum(axis=1) / squares, 0.0, 1.0)
    nearest = starts + shares[:, None] * lines
    return float(np.hypot(nearest[:, 0], nearest[:, 1]).min())
