"""What a transfer costs: links that are too weak for their payload are told before anything is sent, with a remedy."""

import numpy as np
import pytest
from radio_cases import DEVICE_W, SERVER_W, SLOT_S, STILL, link, participants, snr_hz, transfers

import channel
from channel.transfer import MAX_SLOTS
from edgefl.core.errors import RunError
from edgefl.radio import processor_sharing
from edgefl.radio.band import Band

BAND_HZ = 1e6
WEAK_DOWN = {"server_tx_power_dbm": -120.0}
ADVICE = r"or radio\.bandwidth_hz, or give up in time: radio\.faults\.max_transfer_s: 60$"


def most_bits(power_w, share=1.0):
    """Bits of the longest transfer that is not hopeless, over Rayleigh fading."""
    snr = snr_hz(power_w) / BAND_HZ
    mean_bps = float(channel.rate.mean_rayleigh_bps(BAND_HZ, snr))
    return MAX_SLOTS * SLOT_S * share * mean_bps


@pytest.mark.parametrize(
    ("way", "power_w", "share"), [("down", SERVER_W, 0.7 * 0.86), ("up", DEVICE_W, 0.3 * 0.92)], ids=["down", "up"]
)
def test_a_transfer_is_hopeless_from_the_longest_time_on(way, power_w, share):
    """In the mean and alone on the band, with what the frame and control leave of it."""
    of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, tdd={}, overhead={"downlink": 0.14, "uplink": 0.08})
    who = participants(of, [4])
    bits = most_bits(power_w, share)
    assert of.pricing.hopeless(way, who, 1.001 * bits)
    assert not of.pricing.hopeless(way, who, 0.999 * bits)


@pytest.mark.parametrize(
    ("radio", "speed_mps"),
    [({"fading": "none"}, 10.0), ({"fading": {"kind": "ricean", "k_mean_db": 5.0, "k_std_db": 0.0}}, 10.0), ({}, 0.0)],
    ids=["no fading", "line of sight", "at rest"],
)
def test_the_mean_over_rayleigh_fading_calls_nothing_else_hopeless(radio, speed_mps):
    of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, **radio)
    who = participants(of, [4], speed_mps=speed_mps)
    assert not of.pricing.hopeless("up", who, 1e6 * most_bits(DEVICE_W))


def refuse_to_send(_band, _transfer):
    raise AssertionError("a hopeless transfer was sent")


def test_a_hopeless_download_is_refused_before_anything_is_sent(monkeypatch):
    monkeypatch.setattr(Band, "send", refuse_to_send)
    of = link(**WEAK_DOWN, bandwidth_hz=BAND_HZ, sharing="processor")
    text = rf"^round 3: device 7's download needs more than 20000000 slots: raise radio\.server_tx_power_dbm {ADVICE}"
    with pytest.raises(RunError, match=text):
        transfers(of, [7], 1e6, index=2)


def test_a_hopeless_upload_is_refused_when_its_turn_comes():
    """The download of as many bits gets through: the server has a hundred times the device's power."""
    of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, sharing="processor", transfer="fast")
    text = rf"^round 1: device 7's upload needs more than 20000000 slots: raise devices\.tx_power_dbm {ADVICE}"
    with pytest.raises(RunError, match=text):
        transfers(of, [7], 1.01 * most_bits(DEVICE_W))


def test_with_a_longest_time_nothing_is_refused():
    of = link(**WEAK_DOWN, bandwidth_hz=BAND_HZ, sharing="processor", faults={"max_transfer_s": 0.5})
    down, _ = transfers(of, [7], 1e6)
    assert not down.delivered.any()
    assert down.duration_s == pytest.approx([0.5])


def test_a_transfer_that_does_not_end_is_told_as_well(monkeypatch):
    """A channel that stays as it is has no mean over fading: the transfer runs to the longest time."""
    monkeypatch.setattr(processor_sharing, "MAX_SLOTS", 1000)
    of = link(**STILL, **WEAK_DOWN, bandwidth_hz=BAND_HZ, sharing="processor")
    with pytest.raises(
        RunError, match=rf"^round 1: device 7's download needs more than .* slots: raise radio.*{ADVICE}"
    ):
        transfers(of, [7], 1e6)


@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_a_fixed_share_tells_the_same_remedy(transfer):
    of = link(**WEAK_DOWN, bandwidth_hz=BAND_HZ, transfer=transfer)
    text = rf"^round 1: 2 transfer\(s\) need more than 20000000 slots; .*: raise radio\.server_tx_power_dbm {ADVICE}"
    with pytest.raises(RunError, match=text):
        transfers(of, np.array([3, 7]), 1e6)
