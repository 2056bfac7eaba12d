"""Gauss-Markov mobility."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams
from edgefl.world.mobility.base import Area, Track, WithSpeed
from edgefl.world.mobility.constant_velocity import Heading
from edgefl.world.mobility.legs import Corners, Legs
from edgefl.world.mobility.walls import mirrored, unit, wall


class GaussMarkov(WithSpeed):
    """Speed and heading with a memory (Liang & Haas, INFOCOM 1999; in the form of Camp et al., WCMC 2002, sec. 2.5).

    ``x_n = alpha x_(n-1) + (1 - alpha) mean + sqrt(1 - alpha^2) std N(0, 1)`` for the speed, whose mean is the device's
    `speed_mps`, and for the heading; from their stationary laws. A negative speed moves backwards. Walls mirror the
    heading together with its mean.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] = 0.75  # 0: without memory; 1: constant velocity
    speed_std_mps: Annotated[float, Field(ge=0, le=1e4)] = 1.0
    heading_deg: Heading | None = None  # the mean; None: drawn for each device
    heading_std_deg: Annotated[float, Field(ge=0, le=360)] = 30.0
    update_s: Annotated[float, Field(ge=1e-3, le=1e9)] = 1.0

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return where devices are that move straight on between updates."""
        return _GaussMarkovTrack(self, area, self.speeds(count, streams), streams)


class _GaussMarkovTrack(Legs):
    def __init__(self, model: GaussMarkov, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        super().__init__(speeds_mps)
        self.model = model
        self.area = area
        self.streams = streams

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Return the speeds [n] since the last update."""
        velocities = self.velocities_mps(ids, time_s)
        return np.asarray(np.hypot(velocities[:, 0], velocities[:, 1]))

    def corners(self, device: int) -> Corners:
        """Yield the points at which a device updates its velocity or meets a wall, by time [s]."""
        model = self.model
        rng = self.streams.generator("gauss_markov", device)
        point = self.area.points(rng.random(2))
        mean_heading = 2 * np.pi * rng.random()  # drawn in any case, so that a given mean changes no other draw
        if model.heading_deg is not None:
            mean_heading = np.radians(model.heading_deg)
        # The heading is mean + mirror * deviation. A wall turns the sign of the deviation, too, so that the process of
        # deviations itself goes on as if there were no walls.
        mirror = 1.0
        step = 0
        noise = np.sqrt(1 - model.alpha**2)
        state = rng.standard_normal(2)  # deviations of speed and heading, over their standard deviations
        yield 0.0, point
        while True:
            speed_mps = float(self._speeds_mps[device] + model.speed_std_mps * state[0])
            heading = mean_heading + mirror * np.radians(model.heading_std_deg) * state[1]
            direction = np.copysign(1.0, speed_mps) * unit(heading)
            length_m = abs(speed_mps) * model.update_s
            moved_m = 0.0
            gap_m, _ = wall(self.area, point, direction)
            while moved_m + gap_m < length_m:
                point = point + gap_m * direction
                moved_m = moved_m + gap_m
                direction = mirrored(direction, point)
                mirror = -mirror
                # Reflection at the normal's angle a takes a heading h to 2 a + pi - h.
                mean_heading = 2 * np.arctan2(point[1], point[0]) + np.pi - mean_heading
                yield (step + moved_m / length_m) * model.update_s, point
                gap_m, _ = wall(self.area, point, direction)
            step += 1
            point = point + (length_m - moved_m) * direction
            yield step * model.update_s, point
            state = model.alpha * state + noise * rng.standard_normal(2)
