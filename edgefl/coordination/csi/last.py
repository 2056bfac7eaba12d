"""Channel state information that comes with updates."""

from pydantic import NonNegativeInt

from edgefl.coordination.csi.base import ReportedCsi


class LastCsi(ReportedCsi):
    """The channel as a device last measured it, when it began to take part or was polled (outdated CSI)."""

    # Size of the report with each update and each answer to a poll; with 0 reports are free.
    report_bits: NonNegativeInt = 32

    @property
    def update_bits(self) -> int:
        """Return the size of a report."""
        return self.report_bits
