"""What mobility is: positions as functions of (device, time)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from edgefl.catalogue import Member
from edgefl.distributions import Constant, NonNegative
from edgefl.streams import Streams

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Area:
    """The cell's annulus around its base station at (0, 0): min_distance_m <= distance <= radius_m."""

    min_distance_m: float
    radius_m: float

    def points(self, u: Floats) -> Floats:
        """Points [..., 2] of uniform areal density from uniforms [..., 2] (dynamic-devices paper, eq. 22)."""
        from channel.geometry import annulus_distance_m

        distance = annulus_distance_m(u[..., 0], self.min_distance_m, self.radius_m)
        angle = 2 * np.pi * u[..., 1]
        return np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=-1)


class Track(Protocol):
    """Where devices are."""

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Positions [n, 2] of devices [n] at a time."""


class Mobility(Member):
    """Base of all mobility models."""

    speed_mps: NonNegative = Constant(value=10.0)

    def track(self, area: Area, speeds_mps: Floats, streams: Streams) -> Track:
        """The movement of devices with speeds [count] in the area."""
        raise NotImplementedError
