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
    # The slot that completes a payload counts in full.
    incomplete_slots = (sent < payload[:, None]).sum(axis=1)
    needed = np.where(payload > 0, incomplete_slots + 1, 0)
    return Race(int(needed.min(initial=sent.shape[1])), needed, sent)


LEAST_MEAN_BPS = 1.0  # instead of a lower mean rate: a terminal that was never served comes first, not infinitely so


def proportional_fair_turn(coming_bps: ArrayLike, mean_bps: ArrayLike) -> Floats:
    """Return whose turn the coming slots are: the whole band to the largest `r_k / T_k`, the proportional-fair rule.

    With `T_k` as `mean_rate` averages it, the mean rates approach the maximum of `sum_k ln T_k` as the window grows
    (Kushner and Whiting, IEEE Trans. Wireless Commun. 3(4), 2004). Over constant channels all have turns of equal
    length, whatever their rates; over fading ones turns come at peaks (multi-user diversity).

    Source: Viswanath, Tse and Laroia, IEEE Trans. Inf. Theory 48(6), 2002, section II.A; Jalali, Padovani and Pankaj,
    VTC 2000.

    Args:
        coming_bps: rate r of each on the whole band in the coming slots [bit/s], [n].
        mean_bps: mean rate T at which each was served [bit/s], [n].

    Returns:
        1 for the terminal whose turn it is and 0 for the others [n]; of equal ones the first.

    Example:
        The second has the lower rate, but was served even less.

        >>> proportional_fair_turn([20e6, 10e6], [10e6, 2e6])
        array([0., 1.])
    """
    rate = non_negative("coming_bps", coming_bps)
    turn = np.zeros(rate.size)
    turn[np.argmax(rate / np.maximum(non_negative("mean_bps", mean_bps), LEAST_MEAN_BPS))] = 1.0
    return turn


def mean_rate(mean_bps: ArrayLike, served_bps: ArrayLike, lasted_s: ArrayLike, window_s: float) -> Floats:
    """Return mean rates that forget exponentially, `T e^(-t/tau) + R (1 - e^(-t/tau))`, after time t at the rate R.

    In slots of length s it is `T <- (1 - 1/t_c) T + R/t_c` with `1/t_c = 1 - e^(-s/tau)` (source as above).

    Args:
        mean_bps: the mean rates T before [bit/s], [n].
        served_bps: the rate R at which each was served since [bit/s], [n].
        lasted_s: how long, t [s], [n] or one for all.
        window_s: the window tau [s].

    Example:
        >>> mean_rate([0.0], [8e6], 1.0, 1.0).round(-3)
        array([5057000.])
    """
    kept = np.exp(-non_negative("lasted_s", lasted_s) / positive("window_s", window_s))
    return np.asarray(non_negative("mean_bps", mean_bps) * kept + non_negative("served_bps", served_bps) * (1.0 - kept))
