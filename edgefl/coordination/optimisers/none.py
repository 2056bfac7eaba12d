"""No optimiser."""

from typing import ClassVar

from edgefl.coordination.optimisers.base import Optimiser


class NoOptimiser(Optimiser):
    """No optimiser: `radio.allocation`, `devices.tx_power_dbm` and the devices' clocks hold as they stand."""

    decides: ClassVar[bool] = False
