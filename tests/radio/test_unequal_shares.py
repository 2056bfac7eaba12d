"""Random shares: weights by device, round and direction, and their effect on a band."""

import math

import numpy as np
import pytest
from radio_cases import DEVICE_W, SLOT_S, STILL, link, participants, transfers

from channel.rate import TRUNCATED
from edgefl.core.streams import Streams
from edgefl.radio.allocation import ALLOCATIONS

FLAT = {**STILL, "server_power": "total"}  # a rate in proportion to the bandwidth
BITS = 1e8
ALONE_S = float(transfers(link(**FLAT), [0], BITS)[0].duration_s[0])  # on the whole band


def unequal(sigma=0.8, **radio):
    return link(**{**FLAT, "sharing": "processor", "allocation": {"kind": "unequal", "sigma": sigma}, **radio})


def normals(ids, index=0, position=0):
    return Streams(1).normal_at("share", ids, index, position)


def two_to_one(ids):
    """The sigma at which the downloads of two devices have weights 2:1, and the heavier one's row."""
    first, second = normals(ids)
    return math.log(2) / abs(first - second), int(second > first)


def share_hz(of, ids, index=0, way="down"):
    """The shares of devices who send at the same time."""
    ids = np.asarray(ids)
    budget = of.pricing.budget
    same = np.ones(ids.size)
    rounds = np.full(ids.size, index)
    shares = budget.resources.divide(
        BITS * same, 1e12 * same, budget.efficiency, way=way, spread=True, devices=ids, index=rounds
    )
    return shares.bandwidth_hz


@pytest.mark.parametrize("ids", [[3, 8], [0, 5], [11, 2]])
def test_of_two_with_weights_2_to_1_the_first_ends_after_three_quarters(ids):
    """At 2/3 of the band the first takes 1.5 times as long as alone; then the second has all, and takes 2 times."""
    sigma, heavy = two_to_one(ids)
    ends_s = transfers(unequal(sigma), ids, BITS)[0].duration_s
    assert ends_s[heavy] == pytest.approx(1.5 * ALONE_S, abs=2 * SLOT_S)
    assert ends_s[1 - heavy] == pytest.approx(2.0 * ALONE_S, abs=2 * SLOT_S)


def test_drawn_fixed_shares_hold_for_the_round():
    """2/3 and 1/3 of the band to the end."""
    sigma, heavy = two_to_one([3, 8])
    ends_s = transfers(unequal(sigma, sharing="fixed"), [3, 8], BITS)[0].duration_s
    assert ends_s[heavy] == pytest.approx(1.5 * ALONE_S, abs=2 * SLOT_S)
    assert ends_s[1 - heavy] == pytest.approx(3.0 * ALONE_S, abs=2 * SLOT_S)


@pytest.mark.parametrize("index", [0, 7])
@pytest.mark.parametrize("sigma", [0.3, 1.5])
def test_no_part_of_the_band_is_idle(sigma, index):
    """The last one ends when all bits are through, whatever the weights, and the others before."""
    ids = np.arange(6)
    ends_s = np.sort(transfers(unequal(sigma), ids, BITS, index=index)[0].duration_s)
    assert ends_s[-1] == pytest.approx(6 * ALONE_S, abs=7 * SLOT_S)  # each end may lose the rest of a slot
    assert (np.diff(ends_s) > SLOT_S).all()


def test_ends_follow_weighted_processor_sharing():
    """Against the fluid, end by end: with all of n transfers under way the first ends after Z / C over its share."""
    ids = np.arange(5)
    weights = np.exp(0.8 * normals(ids, 3))
    order = np.argsort(-weights)
    left = np.ones(5)
    now = 0.0
    expected = np.zeros(5)
    for place, row in enumerate(order):
        rows = order[place:]
        rate = weights[rows] / weights[rows].sum()
        step = left[row] / rate[0]
        left[rows] -= rate * step
        now += step
        expected[row] = now
    found_s = transfers(unequal(0.8), ids, BITS, index=3)[0].duration_s
    assert found_s == pytest.approx(expected * ALONE_S, abs=6 * SLOT_S)


def test_a_weight_is_lognormal_and_its_devices_own():
    """The ratio of two shares is that of their weights, with any other participants; by round and direction another."""
    of = unequal(0.8)
    together = share_hz(of, np.arange(9))
    apart = share_hz(of, [2, 7])
    expected = math.exp(0.8 * (normals(2) - normals(7)))
    assert together[2] / together[7] == pytest.approx(expected, rel=1e-12)
    assert apart[0] / apart[1] == pytest.approx(expected, rel=1e-12)
    assert together.sum() == pytest.approx(100e6, rel=1e-12)
    turned = share_hz(of, np.arange(9)[::-1])
    np.testing.assert_allclose(turned[::-1], together, rtol=1e-12)
    for other, normal in ((share_hz(of, [2, 7], index=1), (1, 0)), (share_hz(of, [2, 7], way="up"), (0, 1))):
        ratio = math.exp(0.8 * (normals(2, *normal) - normals(7, *normal)))
        assert other[0] / other[1] == pytest.approx(ratio, rel=1e-12)
        assert other[0] / other[1] != pytest.approx(expected, rel=1e-3)


def test_rounds_that_overlap_keep_their_own_weights():
    """Each transfer's weight is of the round that chose its device."""
    budget = unequal(0.8).pricing.budget
    same = np.ones(2)
    shares = budget.resources.divide(
        BITS * same,
        1e12 * same,
        budget.efficiency,
        way="up",
        spread=True,
        devices=np.array([4, 6]),
        index=np.array([9, 2]),
    )
    ratio = math.exp(0.8 * (normals(4, 9, 1) - normals(6, 2, 1)))
    assert shares.bandwidth_hz[0] / shares.bandwidth_hz[1] == pytest.approx(ratio, rel=1e-12)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_without_spread_shares_are_equal_bit_for_bit(sharing):
    keys = {"sharing": sharing, "fading": "rayleigh", "rate": "truncated_shannon"}
    of = unequal(0.0, **keys, bandwidth_hz=20e6)
    plain = unequal(**{**keys, "bandwidth_hz": 20e6, "allocation": "equal"})
    ids = np.arange(7)
    np.testing.assert_array_equal(share_hz(of, ids), share_hz(plain, ids))
    for mine, equal in zip(transfers(of, ids, 2e6), transfers(plain, ids, 2e6), strict=True):
        for name in mine._fields:
            np.testing.assert_array_equal(getattr(mine, name), getattr(equal, name))


def test_no_share_is_wider_than_is_of_use():
    """Uploads from far away, of which each can use a part of the band alone."""
    of = unequal(1.5, rate="truncated_shannon", noise_figure_db=17.0)
    budget = of.pricing.budget
    ids = np.arange(4)
    far = participants(of, ids, distance_m=[300.0, 500.0, 700.0, 900.0])
    snr_hz = budget.snr_hz("up", far.drop.path_gain, np.full(4, DEVICE_W), 0.0)
    widest_hz = budget.widest_hz("up", ids, far.drop.path_gain, snr_hz)
    assert (widest_hz < 100e6).any()
    given_hz = of.pricing.offer("up", far, 1e6).bandwidth_hz
    assert (given_hz <= widest_hz * (1 + 1e-12)).all()
    weights = np.exp(1.5 * normals(ids, 0, 1))
    free = given_hz < widest_hz * (1 - 1e-12)  # those with the shares of their weights
    assert 1 < free.sum() < 4
    ratio = given_hz[free] / weights[free]
    np.testing.assert_allclose(ratio, ratio[:1].repeat(ratio.size), rtol=1e-12)


def test_server_expects_equal_shares():
    """Plans without knowledge of the draws use equal shares."""
    shares = ALLOCATIONS.load("unequal")().shares(12.0, np.ones(3), np.ones(3), TRUNCATED, spread=False)
    np.testing.assert_array_equal(shares.bandwidth_hz, [4.0, 4.0, 4.0])
