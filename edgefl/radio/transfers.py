"""Types of a transfer: its direction, its result, and the listener that follows which radios are on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats

Way = Literal["down", "up"]
WAYS: tuple[Way, Way] = ("down", "up")

OnAir = Callable[[int, Way, float, float], None]
"""Called with a device, a direction, the share of the time that its radio is on from now on, and the share of its
transmitter's full power that it then sends."""


def ignore_on_air(device: int, way: Way, air: float, power_share: float) -> None:
    """Do nothing: no battery follows the radios."""


class TransferResult(NamedTuple):
    """The result of one download or upload of a participant, all its attempts together."""

    duration_s: float
    air_s: float  # of the duration with the radio on: in the transfer's turns, in the frame's direction
    full_power_s: float  # time on the air at full power that takes the energy sent: sum of (power / full power) air_s
    sent_bits: float  # attempts that fail count, too
    delivered: bool
    band_s: float = 0.0  # time that it would have occupied the whole band of its direction
    sinr_s: float = 0.0  # sum of (signal over interference and noise) air_s, before fading; 0: unknown, nan: has none
    first_sent: int = 0  # transport blocks that were sent for the first time
    first_lost: int = 0  # of these, the blocks that were lost then
    cut: str = ""  # the cause of the interrupt that cut it short; empty if none did
    access_s: float = 0.0  # waited for access before its first bit, besides the duration

    def after(self, earlier: TransferResult) -> TransferResult:
        """Return this result with the time and the bits of an earlier transfer added."""
        if earlier is NOT_BEGUN:
            return self
        return TransferResult(
            duration_s=earlier.duration_s + self.duration_s,
            air_s=earlier.air_s + self.air_s,
            full_power_s=earlier.full_power_s + self.full_power_s,
            sent_bits=earlier.sent_bits + self.sent_bits,
            delivered=self.delivered,
            cut=self.cut,
            access_s=earlier.access_s + self.access_s,
            band_s=earlier.band_s + self.band_s,
            sinr_s=earlier.sinr_s + self.sinr_s,
            first_sent=earlier.first_sent + self.first_sent,
            first_lost=earlier.first_lost + self.first_lost,
        )


NOT_BEGUN = TransferResult(0.0, 0.0, 0.0, 0.0, delivered=False)  # stands for a transfer before it begins


class TransferColumns(NamedTuple):
    """Some of the numbers of transfers [n]; see `TransferResult`."""

    duration_s: Floats
    air_s: Floats
    full_power_s: Floats
    sent_bits: Floats


def columns_of(transfers: Sequence[TransferResult]) -> TransferColumns:
    """Return the times and bits of transfers [n]."""
    rows = [transfer[:4] for transfer in transfers]
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), 4).T
    return TransferColumns(*columns.copy())


def remedy(way: Way) -> str:
    """Return the remedy for a scenario with a link that is too weak for its payload."""
    power = "radio.server_tx_power_dbm" if way == "down" else "devices.tx_power_dbm"
    return f"raise {power} or radio.bandwidth_hz, or give up in time: radio.faults.max_transfer_s: 60"
