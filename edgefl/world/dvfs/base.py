"""What a clock rule is: the frequency at which a device computes, chosen when its download has ended."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member


class Work(NamedTuple):
    """What devices [n] know when their downloads have ended; one device alone: numbers."""

    cycles: Floats  # of local training
    cpu_hz: Floats  # the fastest clock
    download_s: Floats
    upload_s: Floats  # estimated
    deadline_s: Floats  # for all of it, since the download began; inf where there is none


class Dvfs(Member):
    """Base of all clock rules."""

    needs_deadline: ClassVar[bool] = False
    scales_clock: ClassVar[bool] = True  # whether a device may compute below its cpu_hz

    def clock_hz(self, work: Work) -> Floats:
        """Clocks [n], none above `work.cpu_hz`."""
        raise NotImplementedError
