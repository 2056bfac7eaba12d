from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import numerology

# Minimum guard bands [kHz] of TS 38.101-1, Table 5.3.3-1, for 5 to 100 MHz: (BW - N_RB 12 SCS) / 2 - SCS / 2.
MHZ = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100]
GUARDS_KHZ = {
    15: [242.5, 312.5, 382.5, 452.5, 522.5, 592.5, 572.5, 552.5, 712.5, 692.5],
    30: [505, 665, 645, 805, 785, 945, 925, 905, 1065, 1045, 825, 965, 925, 885, 845],
    60: [None, 1010, 990, 1330, 1310, 1290, 1630, 1610, 1590, 1570, 1530, 1490, 1450, 1410, 1370],
}
# The same of TS 38.101-2, Table 5.3.3-1 (frequency range 2), for 50, 100, 200 and 400 MHz.
FR2_MHZ = [50, 100, 200, 400]
FR2_GUARDS_KHZ = {60: [1210, 2450, 4930, None], 120: [1900, 2420, 4900, 9860]}
SHARES = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e9)), min_size=1, max_size=40).filter(
    lambda shares: sum(shares) > 0
)


def largest_remainder(shares, blocks):
    """Hamilton's method, one block at a time, without a smallest share."""
    quotas = [Fraction(share * blocks, sum(shares)) for share in shares]
    given = [int(quota) for quota in quotas]
    for place in sorted(range(len(shares)), key=lambda k: (given[k] - quotas[k], k))[: blocks - sum(given)]:
        given[place] += 1
    return given


@pytest.mark.parametrize("khz", [15, 30, 60])
def test_resource_blocks_against_the_guard_bands(khz):
    for mhz, guard_khz in zip(MHZ, GUARDS_KHZ[khz], strict=False):
        if guard_khz is not None:
            blocks = (mhz * 1e3 - 2 * guard_khz - khz) / (12 * khz)
            assert numerology.resource_blocks(mhz * 1e6, khz * 1e3) == blocks
    assert len(numerology.N_RB[khz]) == sum(guard is not None for guard in GUARDS_KHZ[khz])


@pytest.mark.parametrize("khz", [60, 120])
def test_resource_blocks_of_frequency_range_2_against_the_guard_bands(khz):
    for mhz, guard_khz in zip(FR2_MHZ, FR2_GUARDS_KHZ[khz], strict=True):
        if guard_khz is not None:
            blocks = (mhz * 1e3 - 2 * guard_khz - khz) / (12 * khz)
            assert numerology.resource_blocks(mhz * 1e6, khz * 1e3, carrier_hz=28e9) == blocks
    assert len(numerology.N_RB_FR2[khz]) == sum(guard is not None for guard in FR2_GUARDS_KHZ[khz])
    assert numerology.slot_s(khz * 1e3, carrier_hz=24.25e9) == pytest.approx(1e-3 * 15 / khz)
    assert numerology.block_hz(khz * 1e3, carrier_hz=28e9) == 12 * khz * 1e3


def test_frequency_range_2_begins_at_24_25_ghz():
    assert numerology.resource_blocks(100e6, 60e3, carrier_hz=24.24e9) == 135
    assert numerology.resource_blocks(100e6, 60e3, carrier_hz=24.25e9) == 132


def test_blocks_and_slots():
    assert numerology.resource_blocks(100e6, 30e3) == 273
    assert [numerology.block_hz(spacing) for spacing in (15e3, 30e3, 60e3)] == [180e3, 360e3, 720e3]
    assert [numerology.slot_s(spacing) for spacing in (15e3, 30e3, 60e3)] == [1e-3, 0.5e-3, 0.25e-3]
    for khz, column in numerology.N_RB.items():
        for mhz, blocks in column.items():
            assert 0.78 < blocks * numerology.block_hz(khz * 1e3) / (mhz * 1e6) < 1  # fits, with guard bands


@pytest.mark.oracle
@settings(deadline=None, derandomize=True)
@given(SHARES, st.integers(1, 300))
def test_whole_blocks_conserve(shares, blocks):
    given = numerology.whole_blocks(shares, blocks)
    assert given.sum() == blocks
    assert np.all(given >= 0)
    positive = np.array(shares) > 0
    assert not given[~positive].any()
    if np.count_nonzero(positive) <= blocks:
        assert np.all(given[positive] >= 1)
    exact = np.array(shares) / sum(shares) * blocks
    if np.all((exact >= 1 + 1e-9) | ~positive):  # no share is raised to one block
        assert np.all(np.abs(given - exact) < 1 + 1e-9)


@pytest.mark.oracle
@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=20), st.integers(1, 20))
def test_whole_blocks_against_a_plain_loop(shares, factor):
    blocks = sum(shares) * factor // 3 + sum(shares)  # enough for every share to be due a block
    assert numerology.whole_blocks(shares, blocks).tolist() == largest_remainder(shares, blocks)


@pytest.mark.oracle
@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=20), st.integers(1, 100))
def test_more_is_never_fewer_blocks(shares, blocks):
    given = numerology.whole_blocks(shares, blocks)
    for i, j in zip(*np.where(np.less.outer(shares, shares)), strict=True):
        assert given[i] <= given[j]


def test_whole_blocks_by_hand():
    assert numerology.whole_blocks([1.0, 1.0, 1.0], 8).tolist() == [3, 3, 2]  # ties go to the first
    assert numerology.whole_blocks([5.0, 3.0, 2.0], 10).tolist() == [5, 3, 2]
    assert numerology.whole_blocks([97.0, 1.0, 1.0, 1.0], 10).tolist() == [7, 1, 1, 1]  # one block each at least
    assert numerology.whole_blocks([97.0, 1.0, 0.0, 1.0], 10).tolist() == [8, 1, 0, 1]
    assert numerology.whole_blocks(np.ones(5), 3).tolist() == [1, 1, 1, 0, 0]  # not enough for all
    assert numerology.whole_blocks(np.ones(100), 273).tolist() == [3] * 73 + [2] * 27
    assert numerology.whole_blocks(np.full(7, 0.1), 7).tolist() == [1] * 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: numerology.resource_blocks(55e6, 30e3), "at 30 kHz spacing: the nearest are 50 MHz and 60 MHz"),
        (lambda: numerology.resource_blocks(20e6, 120e3), "spacing_hz = 120000 is not a subcarrier spacing of FR1"),
        (
            lambda: numerology.resource_blocks(400e6, 60e3, 28e9),
            "the nearest are 100 MHz and 200 MHz",
        ),
        (lambda: numerology.slot_s(30e3, 28e9), r"of FR2 \(carrier 28 GHz\): 60000 or 120000"),
        (lambda: numerology.whole_blocks([1.0, -1.0], 3), "shares = -1.0"),
    ],
)
def test_numerology_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
