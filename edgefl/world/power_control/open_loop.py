"""Open-loop power control of 5G NR."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

import channel
from edgefl.core.arrays import Floats
from edgefl.core.distributions import Constant
from edgefl.core.per_device import REAL, SHARE, PerDevice, PerDeviceShare, Real
from edgefl.world.power_control.base import PowerControl, Uplinks

BLOCK_HZ = 180e3  # twelve subcarriers of 15 kHz: 2^mu M_RB blocks of 12 subcarriers of 2^mu 15 kHz are W / BLOCK_HZ


class OpenLoop(PowerControl):
    """Fractional path-loss compensation: min(P_max, P0 + 10 log10(2^mu M_RB) + alpha PL) (3GPP TS 38.213, 7.1.1)."""

    p0_dbm: Real  # Received power aimed at in 180 kHz, if alpha is 1.
    alpha: PerDeviceShare = Constant(value=1.0)  # Share of the path loss that the device makes up for.

    draws: ClassVar[Mapping[str, tuple[str, PerDevice]]] = {"p0_dbm": ("p0_dbm", REAL), "alpha": ("alpha", SHARE)}

    def transmit_w(self, uplinks: Uplinks) -> Floats:
        """Return the powers [n]: in proportion to the bandwidth, until the full power is reached."""
        asked_dbm = uplinks.drawn["p0_dbm"] + uplinks.drawn["alpha"] * uplinks.path_loss_db
        # Linear in the bandwidth, so that a device without a resource block has power 0 and not a logarithm of 0.
        asked_w = np.asarray(channel.units.dbm_to_w(asked_dbm)) * (uplinks.bandwidth_hz / BLOCK_HZ)
        return np.minimum(uplinks.full_w, asked_w)
