"""Constant velocity."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Floats
from edgefl.core.streams import Streams
from edgefl.world.mobility.base import Area, Track, WithSpeed
from edgefl.world.mobility.legs import Corners, Legs, timed
from edgefl.world.mobility.walls import mirrored, unit, wall

BEYOND = 1 + 1e-6  # of the area's radius: certainly outside
Heading = Annotated[float, Field(ge=-360, le=360)]  # counter-clockwise from the x axis


class ConstantVelocity(WithSpeed):
    """Straight on, from a uniform point; at the cell's edge mirrored, set over to the other side, or gone.

    The hole around the base station always mirrors. Uniform points and headings are stationary where devices stay:
    both reflections and the jump to the opposite point keep areas of (position, heading).
    """

    heading_deg: Heading | None = None  # drawn where not given
    edge: Literal["reflect", "wrap", "leave"] = "reflect"

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Each device moves at its own constant speed."""
        return _Flight(self, area, self.speeds(count, streams), streams)


class _Flight(Legs):
    def __init__(self, model: ConstantVelocity, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        super().__init__(speeds_mps)
        self.model, self.area, self.streams = model, area, streams

    def corners(self, device: int) -> Corners:
        """Where it meets a wall."""
        return timed(self._bounces(device), float(self._speeds_mps[device]))

    @property
    def can_leave(self) -> bool:
        """As the model says."""
        return self.model.edge == "leave" and self.area.disc_m < np.inf

    def _holds(self, device: int, slack_m: float, time_s: float) -> float:
        """Who has left goes straight on for ever, and never comes back."""
        if self.can_leave and np.hypot(*self._position(device, time_s)) > self.area.radius_m * BEYOND:
            return np.inf
        return super()._holds(device, slack_m, time_s)

    def _bounces(self, device: int) -> Corners:
        rng = self.streams.generator("heading", device)
        point, drawn = self.area.points(rng.random(2)), 2 * np.pi * rng.random()
        given = self.model.heading_deg
        direction = unit(drawn if given is None else np.radians(given))
        distance, gone = 0.0, False
        yield distance, point
        while True:
            gap, outer = (self.area.radius_m, True) if gone else wall(self.area, point, direction)
            distance, point = distance + gap, point + gap * direction
            yield distance, point
            if outer and self.model.edge == "leave":
                gone = True
            elif outer and self.model.edge == "wrap":
                point = -point
                yield distance, point
            else:
                direction = mirrored(direction, point)
