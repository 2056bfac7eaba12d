"""The draws of the `fast` engine for attempts that begin together."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from edgefl.core.arrays import Complex, Floats, Rows

NORMALS = 3  # for an attempt: its duration, and the fading's gain afterwards


class FastDraws:
    """The standard normals of attempts [n], drawn at the first use.

    Often they are not needed: short attempts are walked, and the fading after the last message does not matter.

    Args:
        draw: returns the normals [n, NORMALS].
    """

    def __init__(self, draw: Callable[[], Floats]) -> None:
        self._draw = draw

    @cached_property
    def _normals(self) -> Floats:
        return self._draw()

    def of_durations(self, attempts: Rows) -> Floats:
        """Return the normals [r] of the durations of some attempts."""
        return np.asarray(self._normals[attempts, 0])

    @cached_property
    def gains(self) -> Complex:
        """The fading's gains [n] after the attempts."""
        return gains_afterwards(self._normals)


def gains_afterwards(normals: Floats) -> Complex:
    """Return the fading's gains [n] after attempts, from their normals [n, NORMALS]."""
    return np.asarray((normals[:, 1] + 1j * normals[:, 2]) * np.sqrt(0.5))
