"""Gauss-Markov mobility."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.section import Share
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area, mirrored
from edgefl.world.mobility.base import Track, WithSpeed
from edgefl.world.mobility.constant_velocity import Heading
from edgefl.world.mobility.legs import Corners, Legs

FEWEST_UPDATES = 16  # of a device that are computed at once, at first and later
MOST_UPDATES = 64


class GaussMarkov(WithSpeed):
    """Speed and heading with a memory (Liang & Haas, INFOCOM 1999; in the form of Camp et al., WCMC 2002, sec. 2.5).

    ``x_n = alpha x_(n-1) + (1 - alpha) mean + sqrt(1 - alpha^2) std N(0, 1)`` for the speed, whose mean is the device's
    `speed_mps`, and for the heading, from their stationary laws. A negative speed moves backwards. Walls mirror the
    heading and its mean.
    """

    alpha: Share = 0.75  # Memory; 0 has none, 1 is constant velocity.
    speed_std_mps: Annotated[float, Field(ge=0, le=1e4)] = 1.0  # Standard deviation of the speed.
    heading_deg: Heading | None = None  # Mean heading; by default one is drawn for each device.
    heading_std_deg: Annotated[float, Field(ge=0, le=360)] = 30.0  # Standard deviation of the heading.
    update_s: Annotated[float, Field(ge=1e-3, le=1e9)] = 1.0  # Time between two changes of speed and heading.

    keeps_to_hexagons: ClassVar[bool] = True

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return a track of straight steps between updates."""
        return _GaussMarkovTrack(self, area, self.speeds(count, streams), streams)


class _Flight(NamedTuple):
    """Straight steps, one after the other."""

    directions: Floats  # [n, 2]
    lengths_m: Floats  # [n]
    ends: Floats  # [n, 2]
    is_open: Bools  # [n] whether there is certainly no wall within the step's length


class _GaussMarkovTrack(Legs):
    def __init__(self, model: GaussMarkov, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        super().__init__(speeds_mps)
        self.model = model
        self.area = area
        self.streams = streams

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
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
        # deviations itself continues as if there were no walls.
        mirror = 1.0
        step = 0
        yield 0.0, point
        for deviations in self._deviations(rng):
            speeds_mps = self._speeds_mps[device] + model.speed_std_mps * deviations[:, 0]
            turns = np.radians(model.heading_std_deg) * deviations[:, 1]
            done = 0  # of these updates
            while done < len(deviations):
                flight = self._flight(point, mean_heading + mirror * turns[done:], speeds_mps[done:])
                has_bounced = False
                for row, is_open in enumerate(flight.is_open.tolist()):
                    if not is_open:  # near a wall, by single steps
                        direction = flight.directions[row]
                        length_m = float(flight.lengths_m[row])
                        moved_m = 0.0
                        wall = self.area.wall(point, direction)
                        while moved_m + wall.gap_m < length_m:
                            has_bounced = True
                            point = point + wall.gap_m * direction
                            moved_m = moved_m + wall.gap_m
                            normal = wall.normal_at(point)
                            direction = mirrored(direction, normal)
                            mirror = -mirror
                            # Reflection at the normal's angle a takes a heading h to 2 a + pi - h.
                            mean_heading = 2 * np.arctan2(normal[1], normal[0]) + np.pi - mean_heading
                            yield (step + moved_m / length_m) * model.update_s, point
                            wall = self.area.wall(point, direction)
                    if has_bounced:
                        point = point + (length_m - moved_m) * direction
                    else:
                        point = flight.ends[row]
                    step += 1
                    done += 1
                    yield step * model.update_s, point
                    if has_bounced:
                        break  # later steps lead elsewhere

    def _deviations(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield the deviations [n, 2] of speed and heading at the coming updates, over their standard deviations."""
        alpha = self.model.alpha
        noise = float(np.sqrt(1 - alpha**2))
        speed, heading = rng.standard_normal(2).tolist()
        count = FEWEST_UPDATES
        while True:
            deviations = []
            for speed_normal, heading_normal in rng.standard_normal((count, 2)).tolist():
                deviations.append((speed, heading))
                speed = alpha * speed + noise * speed_normal
                heading = alpha * heading + noise * heading_normal
            yield np.array(deviations)
            count = min(2 * count, MOST_UPDATES)  # so that short ways waste little

    def _flight(self, start: Floats, headings: Floats, speeds_mps: Floats) -> _Flight:
        """Return the steps from a point [2] at headings and speeds [n], as if there were no walls."""
        units = np.stack([np.cos(headings), np.sin(headings)], axis=1)
        directions = np.copysign(1.0, speeds_mps)[:, None] * units
        lengths_m = np.abs(speeds_mps) * self.model.update_s
        # One sum after the other, as in a walk by single steps.
        points = np.cumsum(np.concatenate([start[None], lengths_m[:, None] * directions]), axis=0)
        return _Flight(directions, lengths_m, points[1:], self.area.is_open(points[:-1], lengths_m))
