"""Channel state information (CSI): the server's knowledge of its devices' channels when it decides.

Selections, allocations and optimisers see channels only through a `Forecast`, which follows from this section. At best
the server knows the channel at the moment of its decision.

To write a kind of CSI:

1. One file in this folder with a subclass of `RequestedCsi`, whose reports the server asks for before it chooses, or of
   `ReportedCsi`, whose reports come with updates. Its fields are its keys under `server.csi`, and the first line of its
   docstring, which names the source, is what `edgefl list csi` prints.
2. `observe`, from the channel that candidates measure to their reports of it.
3. One line in the table of contents (`members.csv`), one test in `tests/coordination/`, one row in `docs/csi.md`.
"""

from typing import ClassVar, NamedTuple

from pydantic import NonNegativeFloat, NonNegativeInt

from channel.units import db_to_linear
from edgefl.core.arrays import Floats, Ids
from edgefl.core.catalogue import Member
from edgefl.core.section import Delay


class Gains(NamedTuple):
    """The channel of candidates [n]: ratios of received to sent power."""

    ids: Ids
    path_gain: Floats  # of path loss, shadowing and antennas, averaged over the fading
    fading: Floats  # |h|^2, the factor of the fading at this moment; its mean is 1


class Csi(Member):
    """Base class of all kinds of channel state information; as it stands, the server knows nothing."""

    instantaneous: ClassVar[bool] = True
    """Reports are about the fading, too; if not, forecasts take the mean rate over Rayleigh fading."""

    @property
    def known(self) -> bool:
        """Return whether the server knows channels, so that it can make forecasts."""
        return False

    @property
    def update_bits(self) -> int:
        """Return the size of a report that comes with each update, or with the answer to a poll."""
        return 0

    @property
    def request_bits(self) -> int:
        """Return the size of a report that each candidate sends before participants are chosen."""
        return 0


class ReportedCsi(Csi):
    """Base class of all kinds whose devices report what they have measured."""

    known: ClassVar[bool] = True

    noise_db: NonNegativeFloat = 0.0  # Standard deviation of the error of a report.

    def observe(self, gains: Gains) -> Gains:
        """Return the reports of devices [n] on the channel that they measure."""
        return gains

    def disturbed(self, gains: Gains, normal: Floats) -> Gains:
        """Return reports [n] with the error of their measurement, from standard normal numbers [n]."""
        error = db_to_linear(self.noise_db * normal)
        # With the fading, its present strength is measured; without it, the path.
        if self.instantaneous:
            return gains._replace(fading=gains.fading * error)
        return gains._replace(path_gain=gains.path_gain * error)


class RequestedCsi(ReportedCsi):
    """Base class of all kinds where all candidates report before participants are chosen."""

    age_s: Delay = 0.0  # Age of reports when the round begins.
    report_bits: NonNegativeInt = 32  # Size of a report of each candidate before each choice; with 0 reports are free.

    @property
    def request_bits(self) -> int:
        """Return the size of a report."""
        return self.report_bits
