"""What a propagation model is: the large-scale channel between base stations and devices."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Floats
from edgefl.core.catalogue import Member

if TYPE_CHECKING:
    from channel.tr38901 import Statistics, Validity


LOS, NLOS, O2I = 0, 1, 2  # states of a path: line of sight, none, outdoor to indoor; as in channel's statistics


@dataclass(frozen=True)
class PathDraws:
    """Random numbers of every path, broadcast with the distances [...]; a model takes what it needs."""

    los: Floats  # uniform in (0, 1): in line of sight if below its probability
    indoor: Floats  # uniform, by device: indoors if below the share of such devices
    indoor_distance: Floats  # [..., 2] uniform, by device: how deep in the building
    building: Floats  # uniform, by device: a high-loss building if below the share of those
    penetration: Floats  # standard normal, by device: its building's loss around the median
    environment: Floats  # uniform, by path: the height of what lies between (UMa)


@dataclass(frozen=True)
class LargeScale:
    """The large-scale channel of every path [...], without the shadowing itself."""

    state: npt.NDArray[np.int8]  # LOS, NLOS or O2I
    los: Bools  # of the path outdoors
    path_loss_db: Floats  # with the loss into the building
    shadowing_std_db: Floats
    decorrelation_m: Floats  # of the shadowing


class Propagation(Member):
    """Base of all propagation models."""

    out_of_range: Literal["error", "clamp"] = "error"  # clamp: priced at the border of the model's range

    label: ClassVar[str]  # the name in the catalogue

    def physics(self) -> ModuleType:
        """The module of `channel` behind the model."""
        raise NotImplementedError

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """The channel at ground distances [...] to devices at heights that broadcast with them.

        Raises:
            ValueError: a distance is out of the model's range and not to be clamped, or another argument is, or NaN.
        """
        raise NotImplementedError

    def statistics(self) -> Statistics:
        """Shadowing, decorrelation distances and Ricean factor."""
        statistics: Statistics = self.physics().STATISTICS
        return statistics

    def validity(self) -> Validity:
        """Where the model holds."""
        validity: Validity = self.physics().VALIDITY
        return validity

    def ground_range_m(self, carrier_hz: float, bs_height_m: float, ut_height_m: Floats) -> tuple[Floats, Floats]:
        """Shortest and longest ground distance [...] that the model prices, by the devices' heights [...]."""
        shortest, longest = self.validity().distance_m
        return np.full_like(ut_height_m, shortest), np.full_like(ut_height_m, longest)

    def check(
        self,
        min_distance_m: float,
        max_distance_m: float,
        carrier_hz: float,
        bs_height_m: float,
        ut_height_m: tuple[float, float] = (1.5, 1.5),
    ) -> str | None:
        """Why the model does not hold for these ground distances, carrier and (lowest, highest) heights; or None."""
        lowest, highest = ut_height_m
        corners = np.array([lowest, highest, np.clip(bs_height_m, lowest, highest)])  # farthest from, nearest to the BS
        shortest, longest = self.ground_range_m(carrier_hz, bs_height_m, corners)
        near, far = float(shortest.max()), float(longest.min())
        if self.out_of_range == "error" and (min_distance_m < near or max_distance_m > far):
            spanned = f"the cell spans {min_distance_m:g} m to {max_distance_m:g} m"
            return f"{self.label} holds {_span(near, far)}, {spanned} (out_of_range: clamp prices the border)"
        validity = self.validity()
        if not _within(validity.carrier_hz, carrier_hz):
            low, high = (f"{border / 1e9:g}" for border in validity.carrier_hz)
            return f"{self.label} holds from {low} to {high} GHz, the carrier is at {carrier_hz / 1e9:g} GHz"
        if not _within(validity.bs_height_m, bs_height_m):
            span = _span(*validity.bs_height_m)
            return f"{self.label} holds for base stations' heights {span}, this one is at {bs_height_m:g} m"
        if not _within(validity.ut_height_m, *ut_height_m):
            span = _span(*validity.ut_height_m)
            return f"{self.label} holds for devices' heights {span}, these are at {lowest:g} m to {highest:g} m"
        return None

    def priced_m(self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats) -> Floats:
        """The ground distances [...] at which paths are priced: as they are, or moved to the border of the range."""
        distance = np.asarray(distance_2d_m, dtype=np.float64)
        if self.out_of_range == "error":
            return distance
        shortest, longest = self.ground_range_m(carrier_hz, bs_height_m, np.asarray(ut_height_m, dtype=np.float64))
        return np.clip(distance, shortest, longest)

    def by_state(self, state: npt.ArrayLike, los: Bools, path_loss_db: Floats) -> LargeScale:
        """Path losses [...] with the statistics of their states."""
        state = np.broadcast_to(np.asarray(state, dtype=np.int8), path_loss_db.shape)
        statistics = self.statistics()
        shadowing, decorrelation = np.array(statistics.shadowing_db), np.array(statistics.decorrelation_m)
        los = np.broadcast_to(los, path_loss_db.shape)
        return LargeScale(state, los, path_loss_db, shadowing[state], decorrelation[state])


def on_the_ground_m(
    distance_3d_m: tuple[float, float], bs_height_m: float, ut_height_m: Floats
) -> tuple[Floats, Floats]:
    """Ground distances [...] at which the antennas are this far apart; 0 where their heights alone do it."""
    squares = [border**2 - (bs_height_m - ut_height_m) ** 2 for border in distance_3d_m]
    shortest, longest = (np.sqrt(np.maximum(square, 0.0)) for square in squares)
    return shortest, longest


def _within(span: tuple[float, float], *values: float) -> bool:
    return all(span[0] <= value <= span[1] for value in values)


def _span(low_m: float, high_m: float) -> str:
    return f"from {_metres(low_m)}" + (f" to {_metres(high_m)}" if high_m < np.inf else " on")


def _metres(length_m: float) -> str:
    return f"{length_m / 1e3:g} km" if length_m >= 1e3 else f"{length_m:.4g} m"
