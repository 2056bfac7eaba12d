"""Clocks as low as the deadline allows."""

from typing import ClassVar

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat

from edgefl.core.arrays import Floats
from edgefl.world.dvfs.base import Dvfs, Work


class DeadlineClock(Dvfs):
    """The lowest clock that meets the round's deadline, since energy grows with its square (dynamic-devices, eq. 28).

    The time left for computing is the deadline less the download and `upload_margin` times the upload, which is
    estimated from the download (see radio.reciprocity). If no time is left, it is the fastest clock.
    """

    needs_deadline: ClassVar[bool] = True

    min_cpu_hz: PositiveFloat  # Least clock; a device whose cpu_hz is below it keeps that.
    # Factor on the estimated upload, as fading changes and others send at other times.
    upload_margin: NonNegativeFloat = 1.5

    def clock_hz(self, work: Work) -> Floats:
        """Return the clocks [n] at which the cycles just fit into the time left, within the bounds."""
        left_s = work.deadline_s - work.download_s - self.upload_margin * work.upload_s
        never_hz = np.full(len(left_s), np.inf)
        needed_hz = np.divide(work.cycles, left_s, out=never_hz, where=left_s > 0)
        return np.asarray(np.minimum(work.cpu_hz, np.maximum(needed_hz, self.min_cpu_hz)))
