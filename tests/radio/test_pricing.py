"""Transfers over a link that is too weak for their payload: known in advance, and failing in time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from radio_cases import DEVICE_W, SERVER_W, SLOT_S, STILL, link, participants, snr_hz, transfers

import channel
from channel.transfer import MAX_SLOTS
from edgefl.radio.carriers import processor_sharing
from edgefl.radio.prices import hopeless_links, transmission

BAND_HZ = 1e6
WEAK_DOWN = {"server_tx_power_dbm": -120.0}
LINK_FAILURE_S = 100.0


def most_bits(power_w, share=1.0):
    """Bits of the longest transfer that is not hopeless, over Rayleigh fading."""
    snr = snr_hz(power_w) / BAND_HZ
    mean_bps = float(channel.rate.mean_rayleigh_bps(BAND_HZ, snr))
    return MAX_SLOTS * SLOT_S * share * mean_bps


@pytest.mark.parametrize(
    ("way", "power_w", "share"), [("down", SERVER_W, 0.7 * 0.86), ("up", DEVICE_W, 0.3 * 0.92)], ids=["down", "up"]
)
def test_a_transfer_is_hopeless_from_the_longest_time_on(way, power_w, share):
    """By the mean rate alone on the band, less the frame and control."""
    of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, tdd={}, overhead={"downlink": 0.14, "uplink": 0.08})
    who = participants(of, [4])
    bits = most_bits(power_w, share)
    assert of.pricing.hopeless_links.alone(way, who, 1.001 * bits).all()
    assert not of.pricing.hopeless_links.alone(way, who, 0.999 * bits).any()


@pytest.mark.parametrize("k", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("rate", ["shannon", "mcs"])
def test_over_a_line_of_sight_it_is_hopeless_by_the_mean_of_its_fading(k, rate):
    """Against a million draws of the power: the mean is right to 2 %, at rates that are rare and at usual ones."""
    fading = {"kind": "ricean", "k_mean_db": 10 * math.log10(k), "k_std_db": 0.0}
    of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, fading=fading, rate=rate)
    who = participants(of, [4])
    h = np.random.default_rng(3).normal(size=(2, 10**6)) * math.sqrt(0.5)
    power = (math.sqrt(k / (k + 1)) + h[0] / math.sqrt(k + 1)) ** 2 + h[1] ** 2 / (k + 1)
    snr = snr_hz(DEVICE_W) / BAND_HZ
    bits = MAX_SLOTS * SLOT_S * BAND_HZ * of.pricing.budget.efficiency.bps_hz(snr * power).mean()
    assert of.pricing.hopeless_links.alone("up", who, 1.02 * bits).all()
    assert not of.pricing.hopeless_links.alone("up", who, 0.98 * bits).any()


@pytest.mark.parametrize("radio", [{"fading": "none"}, {}], ids=["no fading", "at rest"])
def test_a_constant_link_is_hopeless_by_its_rate(radio):
    of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, **radio)
    who = participants(of, [4], speed_mps=0.0)
    power = 1.0 if radio else abs(who.start[0]) ** 2
    bits = MAX_SLOTS * SLOT_S * BAND_HZ * math.log2(1 + snr_hz(DEVICE_W) / BAND_HZ * power)
    assert of.pricing.hopeless_links.alone("up", who, 1.0001 * bits).all()
    assert not of.pricing.hopeless_links.alone("up", who, 0.9999 * bits).any()


@pytest.mark.parametrize("fading", ["none", "rayleigh"])
@pytest.mark.parametrize("tdd", [{"downlink": 0.75, "uplink": 0.25}, "DDDU"], ids=["shares", "slots"])
def test_under_fixed_shares_the_frame_counts_too(fading, tdd):
    """Three quarters of the slots belong to the downlink: one that needs more than the uplink's quarter fails."""
    of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, fading=fading, tdd=tdd, overhead={"uplink": 0.2})
    snr = snr_hz(1e-19) / BAND_HZ
    mean_bps = BAND_HZ * math.log1p(snr) / math.log(2)
    if fading == "rayleigh":
        mean_bps = float(channel.rate.mean_rayleigh_bps(BAND_HZ, snr))
    most = MAX_SLOTS * SLOT_S * 0.25 * 0.8 * mean_bps
    far = replace(participants(of, [4]), tx_power_w=np.array([1e-19]))
    row = np.array([0])
    failing = of.pricing.price(of.pricing.offer("up", far, 1.01 * most), far, row)
    assert not failing.delivered[0]
    assert failing.slots[0] == pytest.approx(LINK_FAILURE_S / SLOT_S)
    if fading == "none":  # walked in a closed form, so it may come to its end
        long = of.pricing.price(of.pricing.offer("up", far, 0.99 * most), far, row)
        assert long.delivered[0]
        assert long.slots[0] == pytest.approx(0.99 * MAX_SLOTS, rel=1e-6)


def test_a_link_that_needs_a_narrow_share_is_not_hopeless():
    """Over 100 MHz the lowest scheme is out of reach; a tenth of them carries it."""
    of = link(bandwidth_hz=100e6, rate="mcs", **STILL)
    lowest = of.pricing.budget.efficiency.thresholds[0]
    power_w = lowest / (snr_hz(1.0) / 100e6) / 5
    who = replace(participants(of, [4]), tx_power_w=np.array([power_w]))
    assert of.pricing.budget.efficiency.bps_hz(snr_hz(power_w) / 100e6) == 0
    assert not of.pricing.hopeless_links.alone("up", who, 1e6).any()


KINDS = [{}, {"fading": "none"}, {"fading": {"kind": "ricean", "k_mean_db": 5.0, "k_std_db": 0.0}}, {"fading": "block"}]


@pytest.mark.parametrize("radio", KINDS, ids=["rayleigh", "none", "ricean", "block"])
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_a_hopeless_transfer_fails_after_a_time_and_the_others_go_on(radio, sharing, transfer):
    """Devices 3 and 7 stand 40 km away: a walk to the end would be at least 20 million slots."""
    distance_m = np.array([50.0, 40e3, 60.0, 40e3])
    keys = {"bandwidth_hz": BAND_HZ, "server_tx_power_dbm": -20.0, "shadowing_db": 0.0}
    propagation = {"kind": "log_distance", "exponent": 4.0}
    of = link(**keys, **radio, propagation=propagation, sharing=sharing, transfer=transfer)
    down, _ = transfers(of, np.array([2, 3, 5, 7]), 1e5, distance_m=distance_m)
    assert down.delivered.tolist() == [True, False, True, False]
    assert down.duration_s[[1, 3]] == pytest.approx([LINK_FAILURE_S, LINK_FAILURE_S])
    assert (down.duration_s[[0, 2]] < 50).all()
    assert (down.sent_bits[[1, 3]] < 1e5 * LINK_FAILURE_S / (MAX_SLOTS * SLOT_S)).all()


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize(
    ("faults", "ends_s"),
    [
        ({"link_failure_s": 0.25}, 0.25),
        ({"max_transfer_s": 150.0}, 150.0),
        ({"max_transfer_s": 0.5}, 0.5),
        ({"max_transfer_s": 0.5, "link_failure_s": 0.25}, 0.25),
        ({"max_transfer_s": 0.25, "link_failure_s": 0.5}, 0.25),
        ({"link_failure_s": 0.25, "attempts": 5, "failure_probability": 0.5}, 0.25),
    ],
)
def test_link_failure_time_follows_its_key(sharing, faults, ends_s):
    of = link(**STILL, **WEAK_DOWN, bandwidth_hz=BAND_HZ, sharing=sharing, faults=faults)
    down, _ = transfers(of, [7], 1e6)
    assert not down.delivered.any()
    assert down.duration_s == pytest.approx([ends_s])


@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_hopeless_transfer_does_not_affect_others(transfer):
    """Under fixed shares: bit for bit."""
    ids = np.arange(8)
    found = []
    for far_m in (300.0, 40e3):
        distance_m = np.full(8, 100.0)
        distance_m[3] = far_m
        of = link(bandwidth_hz=1e7, transfer=transfer, propagation={"kind": "log_distance", "exponent": 5.0})
        found.append(transfers(of, ids, 3e6, distance_m=distance_m))
    others = np.delete(ids, 3)
    for near, far in zip(*found, strict=True):
        assert near.delivered.all()
        assert far.delivered[others].all()
        assert np.array_equal(near.duration_s[others], far.duration_s[others])
    assert not found[1][1].delivered[3]


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_a_transfer_that_turns_out_too_long_fails_at_the_last_slot(monkeypatch, sharing, transfer):
    """Not hopeless by the mean, but the draws make it longer: it ends when the most slots have passed."""
    most = 400
    for module in (hopeless_links, transmission, processor_sharing):
        monkeypatch.setattr(module, "MAX_SLOTS", most)
    monkeypatch.setattr(channel.transfer, "MAX_SLOTS", most)
    snr = snr_hz(DEVICE_W) / BAND_HZ
    bits = 0.97 * most * SLOT_S * float(channel.rate.mean_rayleigh_bps(BAND_HZ, snr))
    found = []
    for index in range(30):
        of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, sharing=sharing, transfer=transfer)
        found.append(transfers(of, [7], bits, index=index)[1])
    delivered = np.concatenate([up.delivered for up in found])
    duration_s = np.concatenate([up.duration_s for up in found])
    sent_bits = np.concatenate([up.sent_bits for up in found])
    assert 0 < delivered.sum() < 30
    assert duration_s[~delivered] == pytest.approx(most * SLOT_S)
    assert (sent_bits[~delivered] < bits).all()
    assert (sent_bits[~delivered] > 0.5 * bits).all()
    assert (duration_s[delivered] <= most * SLOT_S * (1 + 1e-9)).all()
