"""Constant velocity."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Floats
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area, Wall, mirrored, unit
from edgefl.world.mobility.base import Track, WithSpeed
from edgefl.world.mobility.legs import Corners, Legs, timed

BEYOND = 1 + 1e-6  # of the area's radius: a device farther out is certainly outside, by any rounding
Heading = Annotated[float, Field(ge=-360, le=360)]  # counter-clockwise from the x axis


class ConstantVelocity(WithSpeed):
    """Straight on from a uniform point; at the cell's edge mirrored, moved to the opposite side, or gone.

    The hole around the base station always mirrors. Uniform points and headings are stationary where devices stay:
    both reflections and the jump to the opposite point keep areas of (position, heading).
    """

    heading_deg: Heading | None = None  # Heading of all devices; by default one is drawn for each.
    edge: Literal["reflect", "wrap", "leave"] = "reflect"  # What happens to a device at the edge.

    keeps_to_hexagons: ClassVar[bool] = True

    def check(self, area: Area) -> str | None:
        """Return why devices cannot leave the area; None if they stay, or can leave."""
        if self.edge == "leave" and not area.is_convex:
            return "edge must be reflect or wrap with cells.drop: hexagons, which a straight way may enter again"
        return None

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return a track on which each device keeps its speed."""
        return _Flight(self, area, self.speeds(count, streams), streams)


class _Flight(Legs):
    def __init__(self, model: ConstantVelocity, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        super().__init__(speeds_mps)
        self.model = model
        self.area = area
        self.streams = streams

    def corners(self, device: int) -> Corners:
        return timed(self._bounces(device), float(self._speeds_mps[device]))

    @property
    def can_leave(self) -> bool:
        return self.model.edge == "leave" and self.area.disc_m < np.inf

    def _stays_within(self, device: int, distance_m: float, time_s: float) -> float:
        """Return when a device has moved by a distance; never, if it has left, as it goes straight on for ever."""
        if self.can_leave and np.hypot(*self.positions_m(np.array([device]), time_s)[0]) > self.area.radius_m * BEYOND:
            return np.inf
        return super()._stays_within(device, distance_m, time_s)

    def _bounces(self, device: int) -> Corners:
        """Yield the start and the points at which a device meets a wall, by distance [m]."""
        rng = self.streams.generator("heading", device)
        point = self.area.points(rng.random(2))
        heading = 2 * np.pi * rng.random()  # drawn in any case, so that a given heading changes no other draw
        if self.model.heading_deg is not None:
            heading = np.radians(self.model.heading_deg)
        direction = unit(heading)
        distance_m = 0.0
        has_left = False
        yield distance_m, point
        while True:
            if has_left:  # beyond the last wall: legs of any length
                wall = Wall(self.area.radius_m, is_edge=True)
            else:
                wall = self.area.wall(point, direction)
            distance_m = distance_m + wall.gap_m
            point = point + wall.gap_m * direction
            yield distance_m, point
            if wall.is_edge and self.model.edge == "leave":
                has_left = True
            elif wall.is_edge and self.model.edge == "wrap":
                point = wall.across(point)
                yield distance_m, point
            else:
                direction = mirrored(direction, wall.normal_at(point))
