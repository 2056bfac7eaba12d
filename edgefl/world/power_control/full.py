"""Full power, always."""

from typing import ClassVar

from edgefl.core.arrays import Floats
from edgefl.world.power_control.base import PowerControl, Uplinks


class FullPower(PowerControl):
    """Every device transmits at its tx_power_dbm (dynamic-devices paper, Table I)."""

    always_full: ClassVar[bool] = True

    def transmit_w(self, uplinks: Uplinks) -> Floats:
        """Return the full powers [n]."""
        return uplinks.full_w
