"""The check of an allocation."""

from typing import Any

import numpy as np

from channel.rate import SHANNON
from edgefl.core.arrays import Floats, Ids
from edgefl.radio.allocation import Allocation
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.report import Report

BAND_HZ = 20e6
COUNTS = (1, 2, 7, 50)  # of transfers at a time
ROUNDING = 1e-9  # of sums over shares
TURNS = 50  # for each transfer
TURN_S = 5e-3
PERMUTED = 1e-6  # by which shares of transfers in another order may differ: optima are found by iteration


def check_allocation(allocation: type[Allocation] | Allocation, **keys: Any) -> Report:
    """Check that an allocation divides a band as the radio expects of it, and return the report.

    It divides 20 MHz among up to 50 transfers, whose payloads and powers differ by orders of magnitude.
    """
    calls = Calls(allocation, keys, Allocation, "an allocation")
    rng = np.random.default_rng(3)
    for count in COUNTS:
        payload_bits = 10 ** rng.uniform(3, 8, count)
        snr_hz = 10 ** rng.uniform(5, 11, count)
        for spread in (False, True):
            with calls.noting("a division"):
                _check_shares(calls, payload_bits, snr_hz, rng.permutation(count), spread=spread)
        if calls.subject.by_draws:
            with calls.noting("weights"):
                _check_weights(calls, rng.standard_normal(count))
        if calls.subject.in_time:
            with calls.noting("turns"):
                _check_turns(calls, rng.uniform(1e5, 1e8, count))
    return calls.finished()


def _check_turns(calls: Calls[Allocation], coming_bps: Floats) -> None:
    """Check the turns of some transfers, and that each of them has one in time."""
    count = coming_bps.size
    memory = np.zeros((count, calls.subject.memory_width))
    served = np.zeros(count)
    lasted_s = np.full(count, TURN_S)
    for _ in range(TURNS * count):
        turns = calls.array("turns", coming_bps, memory, shape=(count,))
        if (turns < 0).any() or turns.sum() > 1 + ROUNDING:
            calls.wrong("turns", "returned parts of the time below 0, or more than the whole time: they add up to 1")
            return
        served += turns
        memory = calls.array("remember", memory, turns * coming_bps, lasted_s, shape=memory.shape)
    if (served == 0).any():
        calls.wrong("turns", f"gave a transfer no turn among {TURNS * count}, as if it never ended: remember who waits")


def _check_weights(calls: Calls[Allocation], normal: Floats) -> None:
    """Check the weights of some transfers, and that each follows from its own draw."""
    weights = calls.array("weights", normal, shape=normal.shape)
    if (weights <= 0).any():
        calls.wrong("weights", "returned weights that are not above 0: their transfers would never end")
    elif (np.abs(calls.subject.weights(normal[:1]) - weights[:1]) > PERMUTED * weights[:1]).any():
        text = "gave a device another weight when it was alone: a weight follows from the device's own draw"
        calls.wrong("weights", text)


def _check_shares(calls: Calls[Allocation], payload_bits: Floats, snr_hz: Floats, order: Ids, *, spread: bool) -> None:
    """Check the shares of some transfers, and that they go with the transfers when these come in another order."""
    shares = calls.of("shares", BAND_HZ, payload_bits, snr_hz, SHANNON, spread=spread)
    shape = payload_bits.shape
    for name in ("bandwidth_hz", "duty"):
        value = getattr(shares, name, None)
        if not is_array(value, shape):
            text = f"returned {kind(value)} as {name}, expected finite numbers {list(shape)}: return channel's Shares"
            calls.reject("shares", text)
    if (shares.bandwidth_hz < 0).any() or (shares.duty < 0).any() or (shares.duty > 1).any():
        calls.wrong("shares", "returned bandwidths below 0, or duties outside of 0 to 1")
    used = float((shares.bandwidth_hz * shares.duty).sum() / BAND_HZ)
    if used > 1 + ROUNDING:
        calls.wrong("shares", f"gave away {used:.6g} of the band: the sum of bandwidth_hz * duty is at most 1")
    if (shares.bandwidth_hz * shares.duty <= 0).any():
        calls.wrong("shares", "gave nothing to a transfer that has bits to send, which then never ends")
    turned = calls.subject.shares(BAND_HZ, payload_bits[order], snr_hz[order], SHANNON, spread=spread)
    expected = shares.bandwidth_hz[order] * shares.duty[order]
    difference = np.abs(turned.bandwidth_hz * turned.duty - expected) / np.maximum(expected, ROUNDING)
    if difference.max() > PERMUTED:
        text = "gave a transfer another share when the same transfers came in another order"
        calls.wrong("shares", f"{text}: a share may not depend on the order")
