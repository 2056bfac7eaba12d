"""Path gains of a map: traced rays, or measurements."""

from types import ModuleType
from typing import ClassVar

import numpy as np

from channel import gain_map
from channel.tr38901 import LOS, NLOS, Validity
from edgefl.core.arrays import Floats
from edgefl.core.paths import DataFile
from edgefl.radio.gain_maps.gain_map import GainMap, read_map
from edgefl.radio.propagation.base import ROUNDING, LargeScale, PathDraws, Propagation
from edgefl.world.cells_section import Cells

ANYWHERE = (0.0, np.inf)
CARRIER_PART = 0.05  # how far the carrier may differ from the map's: 0.4 dB in free space


class Map(Propagation):
    """Map: path gain and line of sight from a file, of traced rays or measurements (edgefl import-map).

    Between the points of the grid, gains are interpolated bilinearly in dB; line of sight is that of the nearest point.
    """

    file: DataFile  # The map, an .npz file of `edgefl import-map`.

    label: ClassVar[str] = "map"
    by_place: ClassVar[bool] = True

    @property
    def gains(self) -> GainMap:
        """Return the map of the file.

        Raises:
            InputError: the file cannot be read, or holds no map.
        """
        return read_map(self.file)

    def physics(self) -> ModuleType:
        """Return `channel.gain_map`."""
        return gain_map

    def validity(self) -> Validity:
        """Return the carriers that the map holds for: those near its own; its heights are those of its source."""
        carriers = ANYWHERE
        carrier_hz = self.gains.carrier_hz
        if np.isfinite(carrier_hz):
            carriers = (carrier_hz * (1 - CARRIER_PART), carrier_hz * (1 + CARRIER_PART))
        return Validity(distance_m=ANYWHERE, carrier_hz=carriers, bs_height_m=ANYWHERE, ut_height_m=ANYWHERE)

    def check_cells(self, cells: Cells, *, stays: bool) -> str | None:
        """Return why the map does not hold for these base stations; None if it does."""
        gains = self.gains
        if cells.wrap_around:
            return "a map has one gain for each place, not one for each image of a cell: leave cells.wrap_around out"
        if cells.sites != gains.sites:
            text = f"the map has {gains.sites} base stations, the scenario has {cells.sites}"
            return f"{text}: set cells to {_section(gains)}"
        if gains.sites_m is not None:
            apart_m = np.hypot(*(cells.sites_m - gains.sites_m).T)
            site = int(np.argmax(apart_m))
            if apart_m[site] > gains.step_m:
                text = f"base station {site} of the map is at {_point(gains.sites_m[site])}"
                text = f"{text}, that of the scenario at {_point(cells.sites_m[site])}"
                return f"{text}: set cells to {_section(gains)}, or import the map with --origin"
        if not stays:
            return None
        return _check_disc(gains, cells.coverage_m, may_leave=self.out_of_range == "clamp")

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel; nothing is drawn.

        Raises:
            ValueError: only distances are known, or a place is not on the map.
        """
        place_m = draws.place_m
        if place_m is None:
            raise ValueError("a map has path gains for places, not for distances")
        gains = self.gains
        if self.out_of_range == "clamp":
            place_m = gain_map.clamped_m(gains.x_m, gains.y_m, place_m)
        loss_db = -gain_map.bilinear(gains.x_m, gains.y_m, gains.path_gain_db, place_m).T
        # Without states in the file, every path counts as in line of sight.
        los = np.ones(loss_db.shape, dtype=bool)
        if gains.los is not None:
            los = gain_map.nearest(gains.x_m, gains.y_m, gains.los, place_m).T
        return self.by_state(np.where(los, LOS, NLOS), los, loss_db)

    def count_at_border(
        self,
        distance_2d_m: Floats,
        carrier_hz: float,
        bs_height_m: float,
        ut_height_m: Floats,
        place_m: Floats | None = None,
    ) -> int:
        """Return the number of paths to places outside the map, which have the gains of its border."""
        if self.out_of_range == "error" or place_m is None:
            return 0
        gains = self.gains
        return gains.sites * int(np.count_nonzero(~gain_map.is_inside(gains.x_m, gains.y_m, place_m)))


def _check_disc(gains: GainMap, radius_m: float, *, may_leave: bool) -> str | None:
    """Return why the map does not hold everywhere in a disc around (0, 0); None if it does."""
    largest_m = gains.radius_m()
    if not may_leave and radius_m > largest_m * (1 + ROUNDING):
        text = f"the map spans {gains.spans()}, devices are up to {radius_m:g} m from (0, 0)"
        remedy = f"lower cells.radius_m until that is {np.floor(largest_m):g} m"
        if largest_m < 1:
            remedy = "import the map with --origin"
        return f"{text}: {remedy}; or set radio.propagation.out_of_range to clamp, which prices them at the border"
    unknown = np.isnan(gains.path_gain_db).any(axis=0)
    far_m = np.hypot(*np.meshgrid(gains.x_m, gains.y_m))
    gaps_m = far_m[unknown] - np.hypot(gains.step_m, gains.step_m)
    if not gaps_m.size or gaps_m.min() >= radius_m:
        return None
    row, column = np.argwhere(unknown & (far_m == far_m[unknown].min()))[0]
    text = f"the map has no gain at {_point(np.array([gains.x_m[column], gains.y_m[row]]))}"
    return f"{text}, and devices are up to {radius_m:g} m from (0, 0): lower cells.radius_m, or fill the gaps"


def _section(gains: GainMap) -> str:
    """Return the section `cells` of the map's base stations, as YAML."""
    if gains.sites_m is None:
        return "{layout: listed, positions_m: [[x, y], ...]} in the order of the map"
    places = ", ".join(f"[{x:g}, {y:g}]" for x, y in gains.sites_m.tolist())
    return f"{{layout: listed, positions_m: [{places}]}}"


def _point(place_m: Floats) -> str:
    return f"({place_m[0]:g}, {place_m[1]:g})"
