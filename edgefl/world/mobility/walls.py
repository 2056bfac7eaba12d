"""Reflection at the walls of the area."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Floats


def mirrored(direction: Floats, normal: Floats) -> Floats:
    """Return the direction [2] after reflection at a wall with that normal [2] of any length."""
    return direction - 2 * (direction @ normal) / (normal @ normal) * normal


def unit(angle: float) -> Floats:
    """Return the unit vector [2] at an angle in radians."""
    return np.array([np.cos(angle), np.sin(angle)])
