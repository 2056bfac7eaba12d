"""Block fading: a function of the device, its base station and the clock; one gain for both directions."""

import math

import numpy as np
import pytest
import simpy
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, SLOT_S, block_gain, link, participants, snr_hz, transfers
from scipy import stats

import edgefl
from edgefl.radio.messages import round_trip
from edgefl.world.cells_section import Handover

LONG = {"kind": "block", "block_s": 100.0}
ROUND = {"kind": "block", "length": "round"}
REST = 2**62  # slots in a block of a device at rest
MANY = np.arange(4_000)
FIRST = np.zeros(MANY.size, dtype=np.int64)
H_10 = sum(1 / k for k in range(1, 11))  # the mean of the largest of ten exponential numbers of mean 1
VARIANCE = sum(1 / k**2 for k in range(1, 11))  # theirs


def power(duration_s, bits, band_hz, snr):
    """|h|^2 of a transfer whose gain is constant, without the last slot, which has begun."""
    return (2 ** (bits / (band_hz * duration_s)) - 1) / snr


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("fading", "speed_mps", "sharing"),
    [(LONG, 10.0, "fixed"), (LONG, 10.0, "processor"), ("block", 0.0, "fixed"), (ROUND, 10.0, "processor")],
    ids=str,
)
def test_download_and_upload_have_one_gain(fading, speed_mps, sharing):
    """Of 30 devices, each alone in its band: the gain of its key, of either way of sharing; correlation 1.

    Of independent gains a correlation above 0.8 has a probability of 1e-7.
    """
    hold = round(100.0 / SLOT_S) if fading == LONG else REST
    bits = 2e7  # a slot of them is a thousandth
    found = []
    for device in range(30):
        of = link(fading=fading, sharing=sharing, shadowing_db=0.0, bandwidth_hz=1e6)
        both = transfers(of, [device], bits, speed_mps=speed_mps)
        watts = (SERVER_W, DEVICE_W)
        found.append([power(way.duration_s[0], bits, 1e6, snr_hz(w) / 1e6) for way, w in zip(both, watts, strict=True)])
        of_key = abs(block_gain(of.streams, device, 0, hold)) ** 2
        assert found[-1] == pytest.approx([of_key, of_key], rel=0.05)
    down, up = np.array(found).T
    assert np.corrcoef(down, up)[0, 1] > 0.999


@pytest.mark.oracle
def test_blocks_begin_with_the_clock():
    """Not with a message: of blocks of 10 ms the second one begins at 10 ms, in the middle of the download."""
    of = link(fading={"kind": "block", "block_s": 0.01}, shadowing_db=0.0, bandwidth_hz=1e6)
    blocks = participants(of, MANY[:50]).blocks
    whole = blocks.gain(FIRST[:50], 100)
    for device in range(50):
        expected = [block_gain(of.streams, device, slot, 20) for slot in range(100)]
        assert whole[device] == pytest.approx(np.array(expected), rel=1e-12)
    for first, slots in ((0, 1), (7, 30), (19, 2), (20, 1), (99, 1)):
        np.testing.assert_array_equal(blocks.gain(FIRST[:50] + first, slots), whole[:, first : first + slots])
    # Each device from a different slot, and one device without the others.
    begin = np.arange(50)
    apart = blocks.gain(begin, 13)
    for device in range(50):
        np.testing.assert_array_equal(apart[device], whole[device, device : device + 13])
    np.testing.assert_array_equal(blocks.only(np.array([3])).gain(np.array([3]), 13)[0], apart[3])


def test_blocks_are_rayleigh_and_independent():
    """Kolmogorov-Smirnov at 1 %, which sees 10 % more power; a correlation of 0.13 is four standard errors off zero."""
    of = link(fading={"kind": "block", "block_s": 0.01})
    who = participants(of, MANY)
    gain = who.blocks.gain(FIRST, 21)
    first, second = np.abs(gain[:, 0]) ** 2, np.abs(gain[:, 20]) ** 2
    elsewhere = of.pricing.fading.blocks(of.radio, _at_cell(who.drop, 1), who.speed_mps, 0).power(FIRST, 1)
    shorter = participants(link(fading={"kind": "block", "block_s": 0.005}), MANY).blocks.power(FIRST, 1)
    bound = 4 / math.sqrt(MANY.size)
    for one in (first, second, elsewhere[:, 0], shorter[:, 0]):
        assert abs(one.mean() - 1) < bound
        assert stats.kstest(one, "expon").pvalue > 0.01
        assert stats.kstest(1.1 * one, "expon").pvalue < 0.01
    for other in (second, elsewhere[:, 0], shorter[:, 0]):
        assert abs(np.corrcoef(first, other)[0, 1]) < bound
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < bound  # of neighbours
    assert abs(np.corrcoef(gain[:, 0].real, gain[:, 0].imag)[0, 1]) < bound


def _at_cell(at, cell):
    return type(at)(**{**vars(at), "cell": np.full(len(at.ids), cell)})


def test_block_may_outlast_a_round():
    """A measurement of one round holds in the next within a block."""
    ids = MANY[:200]
    for fading, speed_mps, holds in (
        (LONG, 10.0, True),
        ("block", 0.0, True),
        (ROUND, 10.0, False),
        (ROUND, 0.0, False),
    ):
        of = link(fading=fading)
        one, other = (participants(of, ids, index, speed_mps=speed_mps).blocks for index in (0, 1))
        first, later = one.power(FIRST[:200], 1), other.power(FIRST[:200] + 100, 1)
        assert (first == later).all() == holds
        assert (first == later).any() == holds
        assert one.constant.all() == (fading != LONG)
    far = one.power(FIRST[:200] + 10**12, 1)  # however long the round takes
    np.testing.assert_array_equal(far, first)


def test_gain_returns_after_a_handover_and_back():
    cells = {"layout": "hexagonal", "sites": 7, "handover": {}, "min_distance_m": 10.0}
    of = link(
        cells,
        fading=LONG,
        sharing="processor",
        propagation={"kind": "umi_los", "out_of_range": "clamp"},
        spatial_consistency=True,
    )
    who = participants(of, [2, 6, 9])
    here = int(who.drop.cell[1])
    carrier = of.roam(simpy.Environment(), who, round_trip(3, 1e6, 1e6, lambda _: np.zeros(3)), Handover())
    seen = [carrier.serving(1).blocks.gain(np.zeros(1, dtype=np.int64), 1)[0, 0]]
    for cell in (here + 1, here):
        carrier.hand_over(1, _at_cell(who.drop.only(np.array([1])), cell))
        seen.append(carrier.serving(1).blocks.gain(np.zeros(1, dtype=np.int64), 1)[0, 0])
    assert seen[0] != seen[1]
    assert seen[2] == seen[0] == block_gain(of.streams, 6, 0, 200_000, here)


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_the_best_of_ten_has_the_harmonic_number(sharing):
    """`proportional_fair` with perfect CSI: the largest of ten exponential numbers, in the upload too.

    The mean over 100 rounds within four standard errors, 0.50: a device chosen without knowledge, mean 1, is 15 away.
    """
    band_hz = 2e3  # on which transfers take so many slots that the last of them does not count
    result = edgefl.run(
        {
            "rounds": 100,
            "data": {"dataset": "digits"},
            "devices": {"count": 10},
            "mobility": {"kind": "static", "speed_mps": 10.0},
            "radio": {"fading": ROUND, "sharing": sharing, "bandwidth_hz": band_hz, "shadowing_db": 0.0},
            "server": {
                "participants": 1,
                "selection": "proportional_fair",
                "csi": {"kind": "perfect", "report_bits": 0},
            },
        },
        train=False,
    )
    rows = result.devices[result.devices["status"] == "received"]
    assert len(rows) == 100
    path = 10 ** (-rows["pathloss_db"] / 10)
    for name, sent, watts in (("download_s", "bytes_down", SERVER_W), ("upload_s", "bytes_up", DEVICE_W)):
        snr = watts * path / NOISE_W_HZ / band_hz
        strength = power(rows[name], 8 * rows[sent], band_hz, snr)
        assert abs(strength.mean() - H_10) < 4 * math.sqrt(VARIANCE / 100)
