"""One clock."""

from __future__ import annotations

from edgefl.dvfs.base import Dvfs, Floats, Work


class FixedClock(Dvfs):
    """Every device computes at its cpu_hz (dynamic-devices paper, eq. 27 and 28)."""

    def clock_hz(self, work: Work) -> Floats:
        """The fastest clock, always."""
        return work.cpu_hz
