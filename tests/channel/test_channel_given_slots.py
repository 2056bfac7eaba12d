"""Transfers over given slots against a plain loop."""

import numpy as np
import pytest

from channel.given_slots import passage, periodic_passage


def plain(payload, limit, bits_of):
    sent = 0.0
    slot = 0
    while payload > 0 and slot < limit:
        sent += bits_of(slot)
        slot += 1
        if sent >= payload:
            return slot, payload
    return slot, sent


def test_against_a_plain_loop():
    rng = np.random.default_rng(3)
    table = rng.exponential(10.0, (100, 4000)) * (rng.random((100, 4000)) < 0.4)
    payload = np.concatenate([[0.0], rng.exponential(3000.0, 99)])
    limit = rng.integers(0, 1500, 100)

    def slot_bits(rows, first, count):
        return np.stack([table[row, at : at + count] for row, at in zip(rows, first, strict=True)])

    for expected in (np.inf, payload / 4.0, 1.0):  # other chunks, the same bits
        found = passage(payload, limit, slot_bits, expected)
        for row in range(100):
            slots, sent = plain(payload[row], limit[row], table[row].__getitem__)
            assert (found.slots[row], found.sent_bits[row]) == (slots, sent)


def test_periodic_slots_against_the_walk():
    rng = np.random.default_rng(4)
    for _ in range(300):
        frame = rng.integers(0, 4, rng.integers(1, 8)).astype(float)
        payload = float(rng.integers(0, 60))
        limit = int(rng.integers(0, 60))
        assert periodic_passage(payload, limit, frame) == plain(payload, limit, lambda k, of=frame: of[k % of.size])


def test_endless_transfer_uses_its_limit():
    assert periodic_passage(1.0, 50, [0.0, 0.0]) == (50, 0.0)
    assert periodic_passage(1e12, 20_000_000, [0.0, 3.0]) == (20_000_000, 3e7)
    assert passage([1.0], 50, lambda _rows, _first, count: np.zeros((1, count))).slots[0] == 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: passage([-1.0], 5, None), "payload_bits = -1.0"),
        (lambda: passage([1.0], 5.5, None), "limit_slots = 5.5"),
        (lambda: passage([1.0], 5, lambda _rows, _first, count: np.zeros(count)), "slot_bits returned shape"),
        (lambda: passage([1.0], 5, lambda _rows, _first, count: np.full((1, count), np.nan)), "slot_bits = nan"),
    ],
)
def test_given_slots_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()
