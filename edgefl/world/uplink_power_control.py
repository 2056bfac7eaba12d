"""Uplink power control: the power at which devices transmit.

Today it is fixed: a device transmits at `devices.tx_power_dbm`, whatever its path loss. The rate of an upload, its
energy and the battery all start from `World.tx_power_w`, which asks this module: a control here changes all of them.
"""

from __future__ import annotations

import numpy as np

import channel
from edgefl.core.arrays import Floats


def transmit_power_w(configured_dbm: Floats) -> Floats:
    """Return the powers [n] at which devices transmit [W], from the configured ones [n] [dBm]."""
    return np.asarray(channel.units.dbm_to_w(configured_dbm))
