"""Checks of the arguments that both engines of `channel.transfer` share, and of transfers that take too long."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import non_negative, positive, ricean_k, within

MAX_SLOTS = 20_000_000  # 10,000 s of 0.5 ms slots


class TransferTooLong(ValueError):  # noqa: N818 - the name says what happened
    """Transfers that take more slots than allowed: their links are too weak for their payloads."""


class Links(NamedTuple):
    """Checked arguments of transfers, each [n] or a scalar."""

    payload_bits: Floats
    mean_snr: Floats
    bandwidth_hz: Floats
    slot_s: Floats  # a scalar
    correlation: Floats
    k_factor: Floats


def check_links(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    k_factor: ArrayLike,
) -> Links:
    """Return the arguments of transfers as floats; see `transfer.walk` for their meaning, units and ranges."""
    # Not broadcast here: `fast` and `walk` have more arguments of the same shape.
    return Links(
        non_negative("payload_bits", payload_bits),
        non_negative("mean_snr", mean_snr),
        positive("bandwidth_hz", bandwidth_hz),
        positive("slot_s", slot_s),
        within("correlation", correlation, -1.0, 1.0),
        ricean_k(k_factor),
    )


def refuse_too_long(mean_snr: Floats, max_slots: int) -> None:
    """Raise TransferTooLong if there are transfers to refuse, given their mean SNRs [1], [r]."""
    if mean_snr.size:
        lowest = np.min(mean_snr)
        raise TransferTooLong(
            f"{mean_snr.size} transfer(s) need more than {max_slots} slots; lowest mean SNR {lowest:.3g}"
        )
