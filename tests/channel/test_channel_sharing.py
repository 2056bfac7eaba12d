import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import mcs, rate, sharing, transfer

SLOT_S = 0.5e-3


def loop(power, payload_bits, mean_snr, bandwidth_hz, model=rate.SHANNON):
    """Return the race in plain Python: slots, and the bits sent by then."""
    n, m = power.shape
    sent_bits = [0.0] * n
    for slot in range(m + 1):
        if slot == m or any(sent >= payload for sent, payload in zip(sent_bits, payload_bits, strict=True)):
            return slot, sent_bits
        for k in range(n):
            sent_bits[k] += bandwidth_hz[k] * float(model.bps_hz(mean_snr[k] * power[k, slot])) * SLOT_S
    raise AssertionError


def field(n, m, seed=0):
    rng = np.random.default_rng(seed)
    bandwidth_hz = rng.uniform(1e5, 1e7, n)
    mean_snr = 10 ** rng.uniform(-1, 4, n)
    slot_bits = rate.mean_rayleigh_bps(bandwidth_hz, mean_snr) * SLOT_S
    return rng.exponential(size=(n, m)), rng.uniform(0.1, 1.5) * m * slot_bits * rng.random(n), mean_snr, bandwidth_hz


@pytest.mark.parametrize("model", [rate.SHANNON, rate.TRUNCATED, mcs.Mcs()], ids=["shannon", "truncated", "mcs"])
def test_against_a_loop(model):
    ends = set()
    for seed in range(60):
        arguments = field(n=1 + seed % 5, m=1 + seed, seed=seed)
        race = sharing.race(*arguments, SLOT_S, model)
        slots, sent_bits = loop(*arguments, model)
        assert race.slots == slots
        assert race.sent_bits.shape == arguments[0].shape
        if slots:
            np.testing.assert_allclose(race.sent_bits[:, slots - 1], sent_bits, rtol=1e-12)
        ends.add(slots == 1 + seed)
    assert ends == {True, False}


def test_a_race_alone_is_a_transfer():
    # the same payload and the same gains as a transfer that has the band to itself
    draws = np.random.default_rng(3).standard_normal((1, 4_000)).view(complex) * math.sqrt(0.5)
    for payload_bits in 10 ** np.linspace(0, 6, 20):
        done = transfer.walk_until(2_000, payload_bits, 30.0, 1e6, SLOT_S, 0.0, lambda _, count: draws[:, :count], 0.0)
        race = sharing.race(np.abs(draws) ** 2, [payload_bits], [30.0], [1e6], SLOT_S)
        assert race.slots == done.slots[0]


def test_an_exact_fill_takes_no_other_slot():
    race = sharing.race(np.ones((2, 20)), [5_000.0, 5_001.0], [1.0, 1.0], [1e6, 1e6], SLOT_S)  # 500 bits a slot
    assert race.slots == 10


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.integers(1, 4_000), min_size=1, max_size=9))
def test_bits_are_conserved_over_the_divisions_of_a_band(payloads):
    # Processor sharing by races, one after the other, at 1 bit/s/Hz: the k-th of n ends when the band has carried
    # n Z_1 + (n - 1) (Z_2 - Z_1) + ... bits (payloads ascending); each race rounds up to a slot.
    band_hz = 1e5
    left = np.array(payloads, dtype=float)
    slots = 0
    carried = np.zeros(left.size)
    ends = {}
    while (active := np.flatnonzero(left > 0)).size:
        share_hz = np.full(active.size, band_hz / active.size)
        ones = np.ones((active.size, 5_000))
        race = sharing.race(ones, left[active], np.ones(active.size), share_hz, SLOT_S)
        sent = np.minimum(race.sent_bits[:, race.slots - 1], left[active])
        slots += race.slots
        left[active] -= sent
        carried[active] += sent
        left[left < 1e-9] = 0.0
        ends.update(dict.fromkeys(active[left[active] == 0], slots))
    np.testing.assert_allclose(carried, payloads, rtol=1e-12)
    ascending = np.sort(payloads)
    waits = np.arange(len(payloads), 0, -1)
    fluid_slots = np.cumsum(waits * np.diff(ascending, prepend=0)) / (band_hz * SLOT_S)
    late = np.sort(list(ends.values())) - fluid_slots
    assert (late > -1e-6).all()
    assert (late < len(payloads) + 1e-6).all()  # a slot a race at most


@pytest.mark.parametrize(
    ("place", "name", "bad"),
    [
        (0, "power", [[-1.0], [1.0]]),
        (1, "payload_bits", [-1.0, 1.0]),
    ],
)
def test_out_of_range(place, name, bad):
    arguments = [[[1.0], [1.0]], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], SLOT_S]
    arguments[place] = bad
    with pytest.raises(ValueError, match=rf"{name} = .* is out of range"):
        sharing.race(*arguments)
