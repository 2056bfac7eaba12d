"""A clock rule sets the frequency at which a device computes, when its download has ended.

To write a clock rule:

1. One file in this folder with a subclass of `Dvfs`. Its fields are its keys under `devices.dvfs`, and the first line
   of its docstring, which names the source, is what `edgefl list dvfs` prints.
2. `clock_hz`, from what the device knows at that moment (`Work`), and the flags that differ. Time and energy follow
    from
   the clock in `edgefl/world/compute.py`.
3. One line in the table of contents (`members.csv`), one test in `tests/world/test_dvfs.py`, one row in
   `docs/devices.md`.
"""

from typing import ClassVar, NamedTuple

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member


class Work(NamedTuple):
    """The knowledge of devices [n] when their downloads have ended."""

    cycles: Floats  # of local training
    cpu_hz: Floats  # the highest clocks
    download_s: Floats  # how long their downloads took
    upload_s: Floats  # how long their uploads are expected to take
    deadline_s: Floats  # for all of it, from the beginning of the download; inf where there is none


class Dvfs(Member):
    """Base class of all clock rules."""

    needs_deadline: ClassVar[bool] = False
    """The clock follows from the round's deadline, so that `server.deadline_s` is required."""

    scales_clock: ClassVar[bool] = True
    """A device may compute below its `cpu_hz`."""

    def clock_hz(self, work: Work) -> Floats:
        """Return the clocks [n] in hertz, none above `work.cpu_hz`."""
        raise NotImplementedError
