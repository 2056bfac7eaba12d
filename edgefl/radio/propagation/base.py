"""Base of the propagation models: the large-scale channel between base stations and devices.

A new model is one file in this folder and one line in its `members.csv`.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from channel import tdl
from channel.tr38901 import Statistics, Validity
from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.catalogue import Member
from edgefl.world.cells_section import Cells

METRES_A_KM = 1e3
ROUNDING = 1e-9  # relative: a distance of 10 m may have been computed by a square root
Decibels = Annotated[float, Field(ge=-300, le=300)]


@dataclass(frozen=True)
class PathDraws:
    """Random numbers of every path, broadcast with the distances [...]; a model takes what it needs."""

    los: Floats  # uniform in (0, 1): in line of sight if below its probability
    indoor: Floats  # uniform, by device: indoors if below the share of such devices
    indoor_distance: Floats  # [..., 2] uniform, by device: how deep in the building
    building: Floats  # uniform, by device: a high-loss building if below the share of those
    penetration: Floats  # standard normal, by device: its building's loss around the median
    environment: Floats  # uniform, by path: the height of the environment (UMa)
    path_depth: Floats  # uniform, by path: how deep in the building, if that depends on the direction
    floor: Floats  # [..., 2] uniform, by device: the floors of its building, and its floor
    device: Ids | None = None  # not a draw: the devices' numbers; None where paths lead to places, as on a map
    place_m: Floats | None = None  # not a draw: [n, 2] where the devices are; None where only distances are known


@dataclass(frozen=True)
class LargeScale:
    """The large-scale channel of every path [...], without the shadowing itself."""

    state: npt.NDArray[np.int8]  # LOS, NLOS or O2I
    los: Bools  # of the path outdoors
    path_loss_db: Floats  # with the loss into the building
    shadowing_std_db: Floats  # by state
    decorrelation_m: Floats  # of the shadowing, by state


class Propagation(Member):
    """Base of all propagation models."""

    # What happens outside of the model's range; clamp prices paths at its border.
    out_of_range: Literal["error", "clamp"] = "error"

    label: ClassVar[str]  # the name in the catalogue
    delay_scenario: ClassVar[str | None] = None  # of TR 38.901, Table 7.5-6; None: no delay spread
    has_states: ClassVar[bool] = False  # whether line of sight is by chance: then maps are the default
    by_device: ClassVar[bool] = False  # whether a path's loss depends on the device and not on its position
    by_place: ClassVar[bool] = False  # whether it depends on where the device is, not only on how far away

    def physics(self) -> ModuleType:
        """Return the module of `channel` behind the model."""
        # Imported on demand, as checking and listing scenarios does not need the physics.
        raise NotImplementedError

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel at ground distances [...] to devices at heights that broadcast with them.

        Raises:
            ValueError: a distance is out of the model's range and not to be clamped, or another argument is, or NaN.
        """
        raise NotImplementedError

    def heights_m(self, ut_height_m: Floats, draws: PathDraws) -> Floats:
        """Return the heights [...] of devices' antennas; a model may put devices on floors of buildings."""
        return ut_height_m

    def height_span_m(self, lowest_m: float, highest_m: float) -> tuple[float, float]:
        """Return the lowest and the highest antenna that `heights_m` gives, of devices between two heights."""
        return lowest_m, highest_m

    def statistics(self) -> Statistics:
        """Return the statistics of shadowing, decorrelation and Ricean factor."""
        statistics: Statistics = self.physics().STATISTICS
        return statistics

    def delay_spread_s(self, los: Bools, indoor: Bools, carrier_hz: float) -> Floats | None:
        """Return the median delay spreads [n] of devices; None: the model has none.

        Args:
            los: [n] whether the outdoor path is in line of sight.
            indoor: [n] whether each is in a building.
            carrier_hz: the carrier.
        """
        if self.delay_scenario is None:
            return None
        return tdl.median_spread_s(self.delay_scenario, carrier_hz, los, indoor, self.release_of_spreads())

    def release_of_spreads(self) -> int:
        """Return the release of 3GPP whose delay spreads hold."""
        return 16

    def validity(self) -> Validity:
        """Return the distances, carriers and heights where the model holds."""
        validity: Validity = self.physics().VALIDITY
        return validity

    def ground_range_m(self, carrier_hz: float, bs_height_m: float, ut_height_m: Floats) -> tuple[Floats, Floats]:
        """Return the shortest and longest ground distances [...] that the model prices, by devices' heights [...]."""
        shortest, longest = self.validity().distance_m
        return np.full_like(ut_height_m, shortest), np.full_like(ut_height_m, longest)

    def strictest_range_m(
        self, carrier_hz: float, bs_height_m: float, ut_height_m: tuple[float, float]
    ) -> tuple[float, float]:
        """Return the shortest and longest ground distances that the model prices for all heights of devices."""
        lowest, highest = ut_height_m
        # If the range is one between antennas, the range on the ground depends on the difference in height. The
        # strictest borders are those of the heights farthest from, and nearest to, the base station's.
        nearest = np.clip(bs_height_m, lowest, highest)
        heights_m = np.array([lowest, highest, nearest])
        shortest, longest = self.ground_range_m(carrier_hz, bs_height_m, heights_m)
        return float(shortest.max()), float(longest.min())

    def check_distances(
        self,
        min_distance_m: float,
        max_distance_m: float,
        carrier_hz: float,
        bs_height_m: float,
        ut_height_m: tuple[float, float],
    ) -> str | None:
        """Return why the model does not price these distances; None if it does, or clamps them."""
        near, far = self.strictest_range_m(carrier_hz, bs_height_m, ut_height_m)
        if self.out_of_range == "clamp" or (min_distance_m >= near and max_distance_m <= far):
            return None
        spanned = f"the cell spans {min_distance_m:g} m to {max_distance_m:g} m"
        return f"{self.label} holds {_span(near, far)}, {spanned}"

    def check(
        self,
        min_distance_m: float,
        max_distance_m: float,
        carrier_hz: float,
        bs_height_m: float,
        ut_height_m: tuple[float, float] = (1.5, 1.5),
    ) -> str | None:
        """Return why the model does not hold for these distances, carrier and heights; None if it does."""
        misfit = self.check_distances(min_distance_m, max_distance_m, carrier_hz, bs_height_m, ut_height_m)
        if misfit is not None:
            return misfit
        lowest, highest = ut_height_m
        validity = self.validity()
        if not _within(validity.carrier_hz, carrier_hz):
            low_hz, high_hz = validity.carrier_hz
            span = f"from {low_hz / 1e9:g} to {high_hz / 1e9:g} GHz"
            return f"{self.label} holds {span}, the carrier is at {carrier_hz / 1e9:g} GHz"
        if not _within(validity.bs_height_m, bs_height_m):
            span = _span(*validity.bs_height_m)
            text = f"{self.label} holds for base stations' heights {span}, this one is at {bs_height_m:g} m"
            return f"{text}: set cells.bs_height_m to {np.clip(bs_height_m, *validity.bs_height_m):g}"
        if not _within(validity.ut_height_m, *ut_height_m):
            span = _span(*validity.ut_height_m)
            here = f"{lowest:g} m"
            if highest > lowest:
                here = f"{lowest:g} m to {highest:g} m"
            return f"{self.label} holds for devices' heights {span}, these are at {here}"
        return None

    def check_population(self, devices: int, cells: int) -> str | None:
        """Return why the model does not hold for so many devices and cells; None if it does."""
        return None

    def check_cells(self, cells: Cells, *, stays: bool) -> str | None:
        """Return why the model does not hold for these base stations; None if it does.

        Args:
            cells: where they stand, and how far they cover.
            stays: whether no device leaves the disc that they cover.
        """
        return None

    def priced_m(self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats) -> Floats:
        """Return the ground distances [...] at which paths are priced, clamped to the range if so set."""
        distance_m = np.asarray(distance_2d_m, dtype=np.float64)
        if self.out_of_range == "error":  # the physics refuses what is out of range
            return distance_m
        shortest, longest = self.ground_range_m(carrier_hz, bs_height_m, np.asarray(ut_height_m, dtype=np.float64))
        return np.clip(distance_m, shortest, longest)  # the border's loss holds beyond it

    def count_at_border(
        self,
        distance_2d_m: Floats,
        carrier_hz: float,
        bs_height_m: float,
        ut_height_m: Floats,
        place_m: Floats | None = None,
    ) -> int:
        """Return the number of paths that are clamped to the range, from base stations to places [n, 2]."""
        if self.out_of_range == "error":
            return 0
        priced_m = self.priced_m(distance_2d_m, carrier_hz, bs_height_m, ut_height_m)
        return int(np.count_nonzero(np.abs(priced_m - distance_2d_m) > ROUNDING * priced_m))

    def by_state(self, state: npt.ArrayLike, los: Bools, path_loss_db: Floats) -> LargeScale:
        """Return path losses [...] with the statistics of their states [...]."""
        states = np.broadcast_to(np.asarray(state, dtype=np.int8), path_loss_db.shape)
        statistics = self.statistics()
        shadowing_db = np.array(statistics.shadowing_db)
        decorrelation_m = np.array(statistics.decorrelation_m)
        return LargeScale(
            state=states,
            los=np.broadcast_to(los, path_loss_db.shape),
            path_loss_db=path_loss_db,
            shadowing_std_db=shadowing_db[states],
            decorrelation_m=decorrelation_m[states],
        )


def on_the_ground_m(
    distance_3d_m: tuple[float, float], bs_height_m: float, ut_height_m: Floats
) -> tuple[Floats, Floats]:
    """Return the ground distances [...] at which antennas are this far apart; 0 if their heights suffice."""
    rise_m2 = (bs_height_m - ut_height_m) ** 2
    shortest_m, longest_m = distance_3d_m
    shortest = np.sqrt(np.maximum(shortest_m**2 - rise_m2, 0.0))
    longest = np.sqrt(np.maximum(longest_m**2 - rise_m2, 0.0))
    return shortest, longest


def _within(span: tuple[float, float], *values: float) -> bool:
    return all(span[0] <= value <= span[1] for value in values)


def _span(low_m: float, high_m: float) -> str:
    if high_m == np.inf:
        return f"from {_metres(low_m)} on"
    return f"from {_metres(low_m)} to {_metres(high_m)}"


def _metres(length_m: float) -> str:
    if length_m >= METRES_A_KM:
        return f"{length_m / METRES_A_KM:g} km"
    return f"{length_m:.4g} m"
