"""Straight flight between the walls of the area: its edge, and the border of the hole around the base station."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.world.mobility.base import Area


def wall(area: Area, point: Floats, direction: Floats) -> tuple[float, bool]:
    """How far it is from a point in the area, along a unit vector, to the wall; whether that is the outer edge."""
    along, square = float(point @ direction), float(point @ point)
    under = along**2 - square + area.min_distance_m**2
    if along < 0 and under > 0:
        return max(-along - np.sqrt(under), 0.0), False
    return max(-along + np.sqrt(max(along**2 - square + area.radius_m**2, 0.0)), 0.0), True


def mirrored(direction: Floats, normal: Floats) -> Floats:
    """A direction after a wall with that normal [2] of any length."""
    return direction - 2 * (direction @ normal) / (normal @ normal) * normal


def unit(angle: float) -> Floats:
    """The unit vector [2] at an angle in radians."""
    return np.array([np.cos(angle), np.sin(angle)])
