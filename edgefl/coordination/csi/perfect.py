"""Perfect channel state information."""

from edgefl.coordination.csi.base import RequestedCsi


class PerfectCsi(RequestedCsi):
    """The channel with which the round begins, fading included, but not its future."""
