"""An uplink power control sets a device's transmit power, by its share of the band and its path loss.

To write one:

1. One file in this folder with a subclass of `PowerControl`. Its fields are its keys under `devices.power_control`, and
   the first line of its docstring, which names the source, is what `edgefl list power_control` prints.
2. `transmit_w`, from the devices' `Uplinks`. `edgefl/world/uplink_power_control.py`, which asks it, passes the powers
    on
   to rates, energy and batteries.
3. One line in the table of contents (`members.csv`), one test in `tests/world/test_uplink_power_control.py`, one row in
   `docs/channel/power-control.md`.
"""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member
from edgefl.core.per_device import PerDevice


class Uplinks(NamedTuple):
    """The uplinks of devices [n] that send now."""

    full_w: Floats  # `tx_power_dbm` of each: no device can send at more
    bandwidth_hz: Floats  # of each one's share of the band while it is served; 0 without a resource block
    path_loss_db: Floats  # to its base station, with shadowing and antenna gains and without fading
    drawn: Mapping[str, Floats]  # the values [n] of the keys in `PowerControl.draws`


class PowerControl(Member):
    """Base class of all uplink power controls."""

    always_full: ClassVar[bool] = False
    """Devices send at full power, whatever their uplinks."""

    draws: ClassVar[Mapping[str, tuple[str, PerDevice]]] = {}
    """Keys that devices draw: each with its name in `core.per_device.ATTRIBUTES` and its bounds."""

    def transmit_w(self, uplinks: Uplinks) -> Floats:
        """Return the powers [n] at which devices transmit [W], from 0 to `uplinks.full_w`."""
        raise NotImplementedError
