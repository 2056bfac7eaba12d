"""Slots of a direction: their shares, their bits in the long run, and exact waits."""

import math

import numpy as np
import pytest
import simpy
from radio_cases import DEVICE_W, SERVER_W, SLOT_S, STILL, drop, link, participants, snr_hz, transfers

from channel.fading import gauss_markov
from edgefl.core.errors import InputError
from edgefl.radio.messages import DOWNLOAD, UPLOAD, round_trip
from edgefl.radio.tdd import TddCommon, TddPattern
from edgefl.scenario import load

IDS = np.array([2, 6, 9])
DDDSU = [1.0, 1.0, 1.0, 10 / 14, 0.0]
UPLINK = [0.0, 0.0, 0.0, 2 / 14, 1.0]


def framed_slots(bits, bits_a_slot, begin, shares):
    """Walk a transfer over its direction's slots of `bits_a_slot`, from slot `begin` on."""
    slot = begin
    sent = 0.0
    while sent < bits * (1 - 1e-12):
        sent += bits_a_slot * shares[slot % len(shares)]
        slot += 1
    return slot - begin


def test_patterns_match_the_announced_form():
    pattern = TddPattern(pattern="DDDSU")
    assert pattern.slot_shares("down", SLOT_S).tolist() == DDDSU
    assert pattern.slot_shares("up", SLOT_S).tolist() == UPLINK
    keys = {"downlink_slots": 3, "downlink_symbols": 10, "uplink_slots": 1, "uplink_symbols": 2}
    common = TddCommon(period_ms=2.5, **keys)
    common.check(SLOT_S)
    assert common.slot_shares("down", SLOT_S).tolist() == DDDSU
    assert common.slot_shares("up", SLOT_S).tolist() == UPLINK
    # At 120 kHz the same period has 20 slots, of which the rest are flexible.
    assert common.slot_shares("down", SLOT_S / 4).sum() == pytest.approx(3 + 10 / 14)
    assert common.slot_shares("up", SLOT_S / 4)[-2:].tolist() == [2 / 14, 1.0]
    assert pattern.time_share("down", SLOT_S) == pytest.approx(52 / 70)
    assert load({"radio": {"tdd": "DDDSU"}}).radio.tdd == pattern
    assert load({"radio": {"tdd": {"pattern": "DDDSU"}}}).radio.tdd == pattern
    assert load({"radio": {"tdd": {"period_ms": 2.5, **keys}}}).radio.tdd == common


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("compute_s", [0.01, 0.0113, 0.0, 0.0025])
def test_a_transfer_waits_exactly_for_its_slots(sharing, compute_s):
    """Without fading: from the border at which it begins, slot by slot through the real frame."""
    bits = 2.2e6
    share = 100e6 / 3
    of = link(**STILL, sharing=sharing, tdd="DDDSU")
    down, up = transfers(of, IDS, bits, compute_s=compute_s)
    begin = 0
    down_bits = share * SLOT_S * math.log2(1 + snr_hz(SERVER_W) / share)
    slots = framed_slots(bits, down_bits, begin, DDDSU)
    assert down.duration_s == pytest.approx(np.full(3, slots * SLOT_S), abs=1e-9)
    ready_s = slots * SLOT_S + compute_s
    begin = math.ceil(ready_s / SLOT_S - 1e-6)
    up_bits = share * SLOT_S * math.log2(1 + snr_hz(DEVICE_W) / share)
    end_s = (begin + framed_slots(bits, up_bits, begin, UPLINK)) * SLOT_S
    assert up.duration_s == pytest.approx(np.full(3, end_s - ready_s), abs=1e-9)
    assert up.delivered.all()


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_message_within_one_slot_waits_for_the_uplink(sharing):
    """A tiny upload that is ready in the period's first slot takes its fourth, whose last symbols are the uplink's."""
    of = link(**STILL, tdd="DDDSU", sharing=sharing)
    env = simpy.Environment()
    found = {}
    at = drop(of, IDS[:1])
    who = of.participants(at, np.full(1, 10.0), np.full(1, DEVICE_W), 0)
    carrier = of.open(env, who, round_trip(1, 10.0, 10.0, lambda _: np.zeros(1)))

    def device():
        found["down"] = yield from carrier.send(0, DOWNLOAD)
        yield env.timeout(5 * SLOT_S - env.now)
        found["up"] = yield from carrier.send(0, UPLOAD)

    env.run(env.process(device()))
    assert found["down"].duration_s == pytest.approx(SLOT_S)
    assert found["up"].duration_s == pytest.approx(4 * SLOT_S)
    assert found["up"].air_s == pytest.approx(2 / 14 * SLOT_S)


@pytest.mark.oracle
@pytest.mark.parametrize("fading", ["none", "rayleigh", {"kind": "block", "block_s": 0.002}, "jakes", "tdl"], ids=str)
def test_pattern_carries_as_much_as_its_shares_in_the_long_run(fading):
    """Hundreds of periods: the same time on the air, and the same durations to one period, or one fade, in 400."""
    keys = {"fading": fading, "shadowing_db": 0.0, "bandwidth_hz": 20e6, "propagation": "umi_los"}
    shares = {"downlink": 52 / 70, "uplink": 16 / 70}
    slots = transfers(link(**keys, tdd="DDDSU"), IDS, 3e8, speed_mps=20.0)
    fractions = transfers(link(**keys, tdd=shares), IDS, 3e8, speed_mps=20.0)
    for found, expected in zip(slots, fractions, strict=True):
        assert found.duration_s == pytest.approx(expected.duration_s, rel=2e-3 if fading == "none" else 0.03)
        assert found.air_s == pytest.approx(expected.air_s, rel=2e-3 if fading == "none" else 0.03)
        assert found.sent_bits == pytest.approx(np.full(3, 3e8))


@pytest.mark.parametrize("fading", ["none", "rayleigh", "block", "jakes", "tdl"])
def test_single_transfer_on_a_band_equals_a_fixed_share(fading):
    for compute_s in (0.01, 0.0011):
        keys = {"bandwidth_hz": 20e6, "fading": fading, "tdd": "DDSUU", "overhead": {"downlink": 0.14, "uplink": 0.08}}
        fixed = transfers(link(**keys, sharing="fixed"), [4], 3e6, compute_s=compute_s)
        shared = transfers(link(**keys, sharing="processor"), [4], 3e6, compute_s=compute_s)
        for way in (0, 1):
            assert shared[way].duration_s == pytest.approx(fixed[way].duration_s, abs=1e-9)
            assert shared[way].sent_bits == pytest.approx(fixed[way].sent_bits, rel=1e-9)
            assert shared[way].air_s == pytest.approx(fixed[way].air_s, rel=1e-9)


def test_fading_continues_in_slots_of_the_other_direction():
    """Gauss-Markov fading slot by slot: the gain at the end is that of the last slot of either direction."""
    of = link(shadowing_db=0.0, tdd="DSUUU", bandwidth_hz=20e6)
    who = participants(of, IDS)
    rows = np.arange(3)
    framed = of.pricing.price(of.pricing.offer("down", who, 2e6), who, rows)
    draws = of.pricing.fading.innovations("down", who, 0)

    for row in rows:
        gains = gauss_markov(draws(np.array([row]), framed.slots[row])[0], who.correlation[row], who.start[row])
        assert framed.gain[row] == pytest.approx(gains[-1], rel=1e-12)
        rates = np.log2(1 + snr_hz(SERVER_W) / (20e6 / 3) * np.abs(gains) ** 2) * 20e6 / 3 * SLOT_S
        shares = np.resize([1.0, 10 / 14, 0.0, 0.0, 0.0], gains.size)
        assert (rates * shares)[:-1].sum() < 2e6 <= (rates * shares).sum() * (1 + 1e-12)


def test_cut_transfer_has_sent_the_slots_of_its_direction():
    of = link(**STILL, tdd="DDDSU")
    who = participants(of, IDS)
    offer = of.pricing.offer("up", who, 1e9)
    bits_a_slot = 100e6 / 3 * SLOT_S * math.log2(1 + snr_hz(DEVICE_W) / (100e6 / 3))
    for until, own in ((3, 0.0), (4, 2 / 14), (5, 16 / 14), (13, 2 * 16 / 14), (15, 3 * 16 / 14)):
        cut = of.pricing.price(offer, who, np.arange(3), np.full(3, until))
        assert cut.sent_bits == pytest.approx(np.full(3, own * bits_a_slot))


COMMON = {"period_ms": 2.5, "downlink_slots": 3, "uplink_slots": 1}


@pytest.mark.parametrize(
    ("radio", "message"),
    [
        ({"tdd": "DDDX"}, 'radio.tdd.pattern: must have the letters D, S and U only, got "X" in "DDDX"'),
        ({"tdd": "DDDD"}, "radio.tdd.pattern: must have slots for the uplink"),
        ({"tdd": {"pattern": "DSU", "special": {"downlink": 12, "uplink": 3}}}, "must be <= 14 symbols, got 15"),
        ({"tdd": {**COMMON, "period_ms": 3.3}}, "radio.tdd.period_ms: must be one of 0.5, 0.625"),
        ({"tdd": {**COMMON, "period_ms": 1.25}}, "radio.tdd.period_ms: must be whole slots of 0.5 ms, got 1.25"),
        (
            {"tdd": {**COMMON, "uplink_slots": 3}},
            "radio.tdd.downlink_slots: slots and symbols of both directions do not",
        ),
        ({"tdd": {**COMMON, "uplink_slots": 2, "uplink_symbols": 2}}, "do not fit into 5 slots"),
        ({"tdd": "DDDSU", "transfer": "fast"}, "radio.transfer: fast knows shares of the time"),
    ],
)
def test_impossible_frames(radio, message):
    with pytest.raises(InputError, match=message.replace("{", r"\{")):
        load({"radio": radio})
