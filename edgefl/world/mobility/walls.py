"""Straight flight between the walls of the area: its edge, and the border of the hole around the base station."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.world.mobility.base import Area


def wall(area: Area, point: Floats, direction: Floats) -> tuple[float, bool]:
    """Return the distance from a point [2] in the area, along a unit vector [2], to the wall; whether it is the edge.

    The distance s to a circle of radius r solves ``|point + s direction|^2 = r^2``.
    """
    along = float(point @ direction)  # negative: towards the middle
    square = float(point @ point)
    hole = along**2 - square + area.min_distance_m**2  # the discriminant; negative if the line misses the hole
    if along < 0 and hole > 0:
        return max(-along - np.sqrt(hole), 0.0), False
    # Not below 0: rounding may have put the point just beyond the edge.
    edge = max(along**2 - square + area.radius_m**2, 0.0)
    return max(-along + np.sqrt(edge), 0.0), True


def mirrored(direction: Floats, normal: Floats) -> Floats:
    """Return the direction [2] after reflection at a wall with that normal [2] of any length."""
    return direction - 2 * (direction @ normal) / (normal @ normal) * normal


def unit(angle: float) -> Floats:
    """Return the unit vector [2] at an angle in radians."""
    return np.array([np.cos(angle), np.sin(angle)])
