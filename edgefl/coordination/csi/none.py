"""No channel state information."""

from edgefl.coordination.csi.base import Csi


class NoCsi(Csi):
    """The server knows nothing of channels, and makes no forecasts."""
