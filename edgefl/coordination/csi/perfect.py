"""Perfect channel state information."""

from edgefl.coordination.csi.base import RequestedCsi


class PerfectCsi(RequestedCsi):
    """The channel at the beginning of the round, fading included, but not its future."""
