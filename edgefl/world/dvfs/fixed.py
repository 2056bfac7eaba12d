"""The same clock always."""

from typing import ClassVar

from edgefl.core.arrays import Floats
from edgefl.world.dvfs.base import Dvfs, Work


class FixedClock(Dvfs):
    """Every device computes at its cpu_hz (dynamic-devices paper, eq. 27 and 28)."""

    scales_clock: ClassVar[bool] = False

    def clock_hz(self, work: Work) -> Floats:
        """Return the highest clocks [n]."""
        return work.cpu_hz
