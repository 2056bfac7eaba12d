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

    x_n = alpha x_(n-1) + (1 - alpha) mean + sqrt(1 - alpha^2) std N(0, 1) for the speed, whose mean is the device's
    `speed_mps`, and for the heading; from their stationary laws. A negative speed moves backwards. Walls mirror the
    heading together with its mean.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] = 0.75  # 0: without memory; 1: constant velocity
    speed_std_mps: Annotated[float, Field(ge=0, le=1e4)] = 1.0
    heading_deg: Heading | None = None  # the mean; drawn for each device where not given
    heading_std_deg: Annotated[float, Field(ge=0, le=360)] = 30.0
    update_s: Annotated[float, Field(ge=1e-3, le=1e9)] = 1.0

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Straight on between updates."""
        return _Drift(self, area, self.speeds(count, streams), streams)


class _Drift(Legs):
    def __init__(self, model: GaussMarkov, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        super().__init__(speeds_mps)
        self.model, self.area, self.streams = model, area, streams

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Speeds [n] since the last update."""
        return np.asarray(np.hypot(*self.velocities_mps(ids, time_s).T))

    def corners(self, device: int) -> Corners:
        """Updates, and where it meets a wall."""
        model, rng = self.model, self.streams.generator("gauss_markov", device)
        point, drawn = self.area.points(rng.random(2)), 2 * np.pi * rng.random()
        mean = drawn if model.heading_deg is None else np.radians(model.heading_deg)
        mirror, step = 1.0, 0  # the heading is mean + mirror deviation: a wall changes both
        noise = np.sqrt(1 - model.alpha**2)
        state = rng.standard_normal(2)  # of speed and heading, in standard deviations
        yield 0.0, point
        while True:
            speed = float(self._speeds_mps[device] + model.speed_std_mps * state[0])
            heading = mean + mirror * np.radians(model.heading_std_deg) * state[1]
            direction, moved, length = np.copysign(1.0, speed) * unit(heading), 0.0, abs(speed) * model.update_s
            while moved + (gap := wall(self.area, point, direction)[0]) < length:
                point, moved = point + gap * direction, moved + gap
                direction, mirror = mirrored(direction, point), -mirror
                mean = 2 * np.arctan2(point[1], point[0]) + np.pi - mean
                yield (step + moved / length) * model.update_s, point
            step += 1
            point = point + (length - moved) * direction
            yield step * model.update_s, point
            state = model.alpha * state + noise * rng.standard_normal(2)
