"""The area of the devices: a ring around (0, 0), and the walls where devices turn back."""

from dataclasses import dataclass
from math import cos, hypot, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from channel.geometry import annulus_distance_m
from edgefl.core.arrays import Bools, Floats

LEAST_SQUARE_M2 = 1e-300  # the square of a length instead of 0, if start and end are the same point
SAFE_PART = 1 - 1e-9  # of a room, so that no rounding takes more of it


def mirrored(direction: Floats, normal: Floats) -> Floats:
    """Return the direction [2] after reflection at a wall with that normal [2] of any length."""
    return direction - 2 * (direction @ normal) / (normal @ normal) * normal


def unit(angle: float) -> Floats:
    """Return the unit vector [2] at an angle in radians."""
    return np.array([np.cos(angle), np.sin(angle)])


class Wall(NamedTuple):
    """The end of a straight way: at the edge of the area, or at the border of a hole around a base station."""

    gap_m: float  # to it
    is_edge: bool
    normal: Floats | None = None  # [2] of a straight wall
    centre: Floats | None = None  # [2] of a round one; None: (0, 0)
    opposite_m: Floats | None = None  # [2] the way for a device that passes a straight edge to come in again

    def normal_at(self, point: Floats) -> Floats:
        """Return a normal [2] of any length at a point [2] of the wall."""
        if self.normal is not None:
            return self.normal
        if self.centre is not None:
            return point - self.centre
        return point

    def across(self, point: Floats) -> Floats:
        """Return the point [2] at which a device that passes the edge at a point [2] comes in again."""
        if self.opposite_m is None:
            return -point
        return point + self.opposite_m


@dataclass(frozen=True)
class Area:
    """The ring of the devices around (0, 0), min_distance_m <= distance <= radius_m, and its covered part."""

    min_distance_m: float  # of the hole around (0, 0): path-loss models do not hold nearer
    radius_m: float  # of the edge
    sites_m: tuple[tuple[float, float], ...] = ((0.0, 0.0),)  # where base stations stand
    reach_m: float | None = None  # how far each of them covers; None: radius_m; inf: everywhere

    @property
    def is_convex(self) -> bool:
        """Return whether a straight way out through the edge never enters again."""
        return True

    @property
    def disc_m(self) -> float:
        """Return how far a base station covers."""
        if self.reach_m is None:
            return self.radius_m
        return self.reach_m

    def points(self, u: Floats) -> Floats:
        """Return points [..., 2] of uniform areal density from uniforms [..., 2] (dynamic-devices paper, eq. 22)."""
        distance_m = annulus_distance_m(u[..., 0], self.min_distance_m, self.radius_m)
        angle = 2 * np.pi * u[..., 1]
        return np.stack([distance_m * np.cos(angle), distance_m * np.sin(angle)], axis=-1)

    def point(self, u: float, v: float) -> tuple[float, float]:
        """Return one point as `points` does, ten times as fast as an array of one."""
        inner = self.min_distance_m**2  # areas grow with the square of the radius
        distance_m = sqrt(inner + u * (self.radius_m**2 - inner))
        angle = 2 * pi * v
        return distance_m * cos(angle), distance_m * sin(angle)

    def covers(self, points_m: Floats) -> Bools:
        """Return which points [..., 2] are within radius_m."""
        return np.asarray(np.hypot(points_m[..., 0], points_m[..., 1]) <= self.radius_m)

    def wall(self, point: Floats, direction: Floats) -> Wall:
        """Return the first wall on a way from a point [2] in the area along a unit vector [2].

        The distance s to a circle of radius r solves ``|point + s direction|^2 = r^2``.
        """
        along = float(point @ direction)  # negative: towards the middle
        square = float(point @ point)
        hole = along**2 - square + self.min_distance_m**2  # the discriminant; negative if the line misses the hole
        if along < 0 and hole > 0:
            return Wall(max(-along - np.sqrt(hole), 0.0), is_edge=False)
        # Not below 0: rounding may have put the point just beyond the edge.
        edge = max(along**2 - square + self.radius_m**2, 0.0)
        return Wall(max(-along + np.sqrt(edge), 0.0), is_edge=True)

    def sees(self, start: tuple[float, float], end: tuple[float, float]) -> bool:
        """Return whether the straight way between two points of the area stays in it."""
        x, y = start
        dx = end[0] - start[0]
        dy = end[1] - start[1]
        # The part of the way at which it is nearest to the middle.
        nearest = -(x * dx + y * dy) / max(dx * dx + dy * dy, LEAST_SQUARE_M2)
        nearest = min(max(nearest, 0.0), 1.0)
        return hypot(x + nearest * dx, y + nearest * dy) >= self.min_distance_m

    def is_open(self, points_m: Floats, length_m: Floats) -> Bools:
        """Return which points [n, 2] certainly have no wall within lengths [n]."""
        distance_m = np.hypot(points_m[:, 0], points_m[:, 1])
        room_m = np.minimum(distance_m - self.min_distance_m, self.radius_m - distance_m)
        return np.asarray(length_m < room_m * SAFE_PART)
