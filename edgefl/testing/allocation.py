"""The check of an allocation."""

from __future__ import annotations

from typing import Any

import numpy as np

from channel.rate import SHANNON
from edgefl.radio.allocation import Allocation
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.keys import check_keys
from edgefl.testing.report import Report, made, noting

BAND_HZ = 20e6
COUNTS = (1, 2, 7, 50)  # of transfers at a time
ROUNDING = 1e-9  # of sums over shares
PERMUTED = 1e-6  # by which shares of transfers in another order may differ: optima are found by iteration


def check_allocation(allocation: type[Allocation] | Allocation, **keys: Any) -> Report:
    """Check that an allocation divides a band as the radio expects of it, and return the report.

    It divides 20 MHz among up to 50 transfers, whose payloads and powers differ by orders of magnitude.

    Args:
        allocation: the class, or an instance.
        keys: the keys with which the class is checked.

    Raises:
        ConformanceError: something is wrong.
    """
    subject: Allocation = made(allocation, keys, Allocation, "an allocation")
    report = Report.of(subject)
    calls = Calls(report)
    rng = np.random.default_rng(3)
    for count in COUNTS:
        payload_bits = 10 ** rng.uniform(3, 8, count)
        snr_hz = 10 ** rng.uniform(5, 11, count)
        for spread in (False, True):
            with noting(calls.returns, "a division"):
                _check_shares(calls, subject, payload_bits, snr_hz, rng.permutation(count), spread=spread)
        if subject.by_draws:
            with noting(calls.returns, "weights"):
                _check_weights(calls, subject, rng.standard_normal(count))
    check_keys(report, subject)
    return report.raise_faults()


def _check_weights(calls: Calls, allocation: Allocation, normal: Any) -> None:
    """Check the weights of some transfers, and that each follows from its own draw."""
    weights = calls.of(allocation, "weights", normal)
    if not is_array(weights, normal.shape):
        text = f"returned {kind(weights)}, expected finite numbers {list(normal.shape)}"
        calls.wrong(allocation, "weights", text)
    elif (weights <= 0).any():
        calls.wrong(allocation, "weights", "returned weights that are not above 0: their transfers would never end")
    elif (np.abs(allocation.weights(normal[:1]) - weights[:1]) > PERMUTED * weights[:1]).any():
        text = "gave a device another weight when it was alone: a weight follows from the device's own draw"
        calls.wrong(allocation, "weights", text)


def _check_shares(
    calls: Calls, allocation: Allocation, payload_bits: Any, snr_hz: Any, order: Any, *, spread: bool
) -> None:
    """Check the shares of some transfers, and that they go with the transfers when these come in another order."""
    shares = calls.of(allocation, "shares", BAND_HZ, payload_bits, snr_hz, SHANNON, spread=spread)
    shape = payload_bits.shape
    for name in ("bandwidth_hz", "duty"):
        value = getattr(shares, name, None)
        if not is_array(value, shape):
            text = f"returned {kind(value)} as {name}, expected finite numbers {list(shape)}: return channel's Shares"
            calls.wrong(allocation, "shares", text)
            return
    if (shares.bandwidth_hz < 0).any() or (shares.duty < 0).any() or (shares.duty > 1).any():
        calls.wrong(allocation, "shares", "returned bandwidths below 0, or duties outside of 0 to 1")
    used = float((shares.bandwidth_hz * shares.duty).sum() / BAND_HZ)
    if used > 1 + ROUNDING:
        calls.wrong(
            allocation, "shares", f"gave away {used:.6g} of the band: the sum of bandwidth_hz * duty is at most 1"
        )
    if (shares.bandwidth_hz * shares.duty <= 0).any():
        calls.wrong(allocation, "shares", "gave nothing to a transfer that has bits to send, which then never ends")
    turned = allocation.shares(BAND_HZ, payload_bits[order], snr_hz[order], SHANNON, spread=spread)
    expected = shares.bandwidth_hz[order] * shares.duty[order]
    difference = np.abs(turned.bandwidth_hz * turned.duty - expected) / np.maximum(expected, ROUNDING)
    if difference.max() > PERMUTED:
        text = "gave a transfer another share when the same transfers came in another order"
        calls.wrong(allocation, "shares", f"{text}: their order is that of events, and says nothing")
