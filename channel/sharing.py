"""Transfers that share a band whose division changes as they begin and end.

Processor sharing (Kleinrock 1967): whenever a transfer begins or ends, the band is divided among those under way.
docs/channel/sharing.md compares it with fixed shares.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats, Ints
from channel._checks import non_negative, positive
from channel.rate import SHANNON, Efficiency


class Race(NamedTuple):
    """The slots up to the first transfer's end."""

    slots: int  # until the first payload is complete, at most all slots given
    needed: Ints  # [n]: until each payload is complete; one more than were given where it is not
    sent_bits: Floats  # [n, m]: sent by the end of each of the m slots given


def race(
    power: ArrayLike,
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    efficiency: Efficiency = SHANNON,
) -> Race:
    """Send n payloads side by side until the first is complete; the caller then divides the band again.

    Args:
        power: fading power |h|^2 of each transfer in the coming slots [1], [n, m].
        payload_bits: bits that each has left to send [bit], [n]; 0 takes no slot.
        mean_snr: SNR at |h|^2 = 1 [1], [n].
        bandwidth_hz: bandwidth of each [Hz], [n]; 0 sends nothing.
        slot_s: length of a slot [s].
        efficiency: spectral efficiency over the SNR of a slot.

    Returns:
        The slots that this takes, at most m, the slots that each transfer would take, and the bits that each would send
        by the end of each of the m slots; the sums do not stop at the payload.

    Example:
        At 2 Mbit/s each, 1,500 bits take two slots of 0.5 ms.

        >>> race(np.ones((2, 4)), [1_500.0, 9_000.0], [3.0, 3.0], [1e6, 1e6], 0.5e-3).slots
        2
    """
    snr = non_negative("power", power) * non_negative("mean_snr", mean_snr)[:, None]
    return race_at(efficiency.bps_hz(snr), payload_bits, bandwidth_hz, slot_s)


def race_at(bps_hz: ArrayLike, payload_bits: ArrayLike, bandwidth_hz: ArrayLike, slot_s: float) -> Race:
    """Do the same as `race`, given the spectral efficiencies of the coming slots [bit/s/Hz], [n, m]."""
    rates = non_negative("bps_hz", bps_hz)
    hz_s = non_negative("bandwidth_hz", bandwidth_hz) * positive("slot_s", slot_s)
    payload = non_negative("payload_bits", payload_bits)
    sent = np.cumsum(rates * hz_s[:, None], axis=1)
    # The slot in which a payload is complete counts in full.
    incomplete_slots = (sent < payload[:, None]).sum(axis=1)
    needed = np.where(payload > 0, incomplete_slots + 1, 0)
    return Race(int(needed.min(initial=sent.shape[1])), needed, sent)
