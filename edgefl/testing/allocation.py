"""The check of divisions of the band."""

from typing import Any

import numpy as np

from channel.rate import SHANNON
from edgefl.radio.allocation import Allocation
from edgefl.testing.calls import RETURNS, Calls, Property
from edgefl.testing.report import Report
from edgefl.testing.values import Numbers

ROUNDING = 1e-9

BAND_HZ = 20e6
COUNTS = (1, 2, 7, 50)  # of transfers at a time
TURNS = 50  # for each transfer
TURN_S = 5e-3
PERMUTED = 1e-6  # how far shares of transfers in another order may differ: optima are found by iteration


def check_allocation(allocation: type[Allocation] | Allocation, **keys: Any) -> Report:
    """Check that an allocation divides a band as the radio expects of it, and return the report.

    It divides 20 MHz among up to 50 transfers, whose payloads and powers differ by orders of magnitude.
    """
    calls = Calls(allocation, keys, Allocation, "an allocation")
    cases = [(count, spread) for count in COUNTS for spread in (False, True)]
    calls.check(
        Property(RETURNS, _shares_are_possible, cases=cases),
        Property(RETURNS, _weights_are_their_own, cases=[(count,) for count in COUNTS if calls.subject.by_draws]),
        Property(RETURNS, _turns_come, cases=[(count,) for count in COUNTS if calls.subject.in_time]),
    )
    return calls.finished()


def _shares_are_possible(calls: Calls, count: int, spread: bool) -> None:  # noqa: FBT001 - a case of a property
    rng = np.random.default_rng(count)
    payload_bits = 10 ** rng.uniform(3, 8, count)
    snr_hz = 10 ** rng.uniform(5, 11, count)
    shares = calls.of("shares", BAND_HZ, payload_bits, snr_hz, SHANNON, spread=spread)
    calls.numbers("shares", getattr(shares, "bandwidth_hz", None), Numbers((count,), least=0), "bandwidth_hz")
    calls.numbers("shares", getattr(shares, "duty", None), Numbers((count,), least=0, most=1), "duty")
    given_hz = shares.bandwidth_hz * shares.duty
    used = float(given_hz.sum() / BAND_HZ)
    text = f"gave away {used:.6g} of the band: the sum of bandwidth_hz * duty is at most 1"
    calls.require("shares", used <= 1 + ROUNDING, text)
    text = "gave nothing to a transfer that has bits to send, which then never ends"
    calls.require("shares", (given_hz > 0).all(), text)
    order = rng.permutation(count)
    turned = calls.subject.shares(BAND_HZ, payload_bits[order], snr_hz[order], SHANNON, spread=spread)
    alike = np.allclose(turned.bandwidth_hz * turned.duty, given_hz[order], rtol=PERMUTED, atol=0)
    text = "gave a transfer another share when the same transfers came in another order"
    calls.require("shares", alike, f"{text}: a share may not depend on the order")


def _weights_are_their_own(calls: Calls, count: int) -> None:
    normal = np.random.default_rng(count).standard_normal(count)
    weights = calls.array("weights", Numbers((count,), positive=True), normal)
    text = "gave a device another weight when it was the only one: a weight follows from the device's own draw"
    calls.require("weights", np.allclose(calls.subject.weights(normal[:1]), weights[:1], rtol=PERMUTED, atol=0), text)


def _turns_come(calls: Calls, count: int) -> None:
    coming_bps = np.random.default_rng(count).uniform(1e5, 1e8, count)
    memory = np.zeros((count, calls.subject.memory_width))
    served = np.zeros(count)
    for _ in range(TURNS * count):
        turns = calls.array("turns", Numbers((count,), least=0), coming_bps, memory)
        calls.require("turns", turns.sum() <= 1 + ROUNDING, "returned more than the whole time: turns add up to 1")
        served += turns
        memory = calls.array("remember", Numbers(memory.shape), memory, turns * coming_bps, np.full(count, TURN_S))
    text = f"gave a transfer no turn among {TURNS * count}, as if it never ended: remember who waits"
    calls.require("turns", (served > 0).all(), text)
