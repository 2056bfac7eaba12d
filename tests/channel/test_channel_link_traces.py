"""Recorded links: closed forms, and each inverse against the integral it inverts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.link_traces import PACKET_BITS, Opportunities, SnrSteps, Steps
from channel.rate import SHANNON

TWO = Steps(np.array([0.0, 1.0]), np.array([2e6, 1e6]), 4.0)  # 5 Mbit in 4 s


@pytest.mark.parametrize("begin_s", [0.0, 0.3, 1e6 / 3])
def test_a_constant_rate_takes_bits_over_rate_exactly(begin_s):
    link = Steps(np.array([0.0]), np.array([7e6]), 1.0)
    assert link.takes_s(begin_s, 123_456_789.0) == 123_456_789.0 / 7e6
    assert link.carried(begin_s, begin_s + 2.5) == pytest.approx(17.5e6, rel=1e-9)


@pytest.mark.parametrize(
    ("begin_s", "bits", "seconds"),
    [(0.0, 2e6, 1.0), (0.0, 3e6, 2.0), (0.5, 2e6, 1.5), (0.0, 5e6, 4.0), (0.0, 6e6, 4.5), (3.0, 13e6, 10.0)],
)
def test_two_rates_by_hand(begin_s, bits, seconds):
    """The last: 1 Mbit to the end, twice 5 in 4 s each, then 2 Mbit in a second."""
    assert TWO.takes_s(begin_s, bits) == pytest.approx(seconds, rel=1e-12)
    assert TWO.takes_s(begin_s + 4e5, bits) == pytest.approx(seconds, abs=1e-9)
    assert TWO.carried(begin_s, begin_s + seconds) == pytest.approx(bits, rel=1e-12)


def test_without_repetition_nothing_comes_after_the_end():
    assert TWO.takes_s(0.0, 5e6, repeats=False) == pytest.approx(4.0)
    assert TWO.takes_s(0.0, 5.001e6, repeats=False) == np.inf
    assert TWO.takes_s(5.0, 1.0, repeats=False) == np.inf
    assert TWO.carried(3.0, 9.0, repeats=False) == pytest.approx(1e6)


def test_transfer_waits_through_a_pause():
    link = Steps(np.array([0.0, 1.0, 3.0]), np.array([1e6, 0.0, 1e6]), 4.0)
    assert link.takes_s(0.0, 1e6) == 1.0  # not after the pause
    assert link.takes_s(0.0, 1e6 + 1) == pytest.approx(3.000001)
    assert link.takes_s(2.0, 0.0) == 0.0
    ends = Steps(np.array([0.0, 1.0]), np.array([1e6, 0.0]), 4.0)
    assert ends.takes_s(0.0, 2e6) == pytest.approx(5.0)
    assert ends.takes_s(0.0, 1e6) == 1.0
    assert Steps(np.array([0.0]), np.array([0.0]), 1.0).takes_s(0.0, 1.0) == np.inf


pieces = st.lists(st.tuples(st.floats(0.01, 10.0), st.sampled_from([0.0, 1.0, 3e5, 2e7])), min_size=1, max_size=6)


@pytest.mark.oracle
@settings(max_examples=200, deadline=None)
@given(pieces, st.floats(0.0, 100.0), st.floats(1.0, 1e8))
def test_the_time_inverts_the_integral_and_parts_add_up(lasts_and_rates, begin_s, bits):
    lasts_s, rates = (np.array(column) for column in zip(*lasts_and_rates, strict=True))
    if not rates.any():
        return
    link = Steps(np.cumsum(lasts_s) - lasts_s, rates, float(lasts_s.sum()))
    seconds = link.takes_s(begin_s, bits)
    assert link.carried(begin_s, begin_s + seconds) == pytest.approx(bits, rel=1e-6, abs=1e-3)
    cut_s = begin_s + 0.37 * seconds
    parts = link.carried(begin_s, cut_s) + link.carried(cut_s, begin_s + seconds)
    assert parts == pytest.approx(bits, rel=1e-6, abs=1e-3)


# Packets


def test_a_packet_a_millisecond_is_12_mbit_a_second():
    link = Opportunities(np.arange(1, 101) * 1e-3)
    for packets in (1, 99, 100, 101, 12_345):
        assert link.takes_s(0.0, packets * PACKET_BITS) == pytest.approx(packets / 1000, abs=1e-12)
    assert link.carried(0.0, 2.0) == 24e6
    assert link.takes_s(0.0, 1.0) == pytest.approx(1e-3)  # a packet that is not full takes an opportunity, too
    assert link.takes_s(0.0005, PACKET_BITS) == pytest.approx(0.5e-3)


def test_opportunities_at_one_time_and_across_the_end():
    """As mahimahi counts them: the last time is the length, and time 0 of the next run is that time."""
    link = Opportunities(np.array([0.0, 2.0, 2.0, 5.0]))
    ends = [link.takes_s(0.0, packets * PACKET_BITS) for packets in range(1, 9)]
    assert ends == [2.0, 2.0, 5.0, 5.0, 7.0, 7.0, 10.0, 10.0]
    assert link.takes_s(2.0, PACKET_BITS) == 3.0  # opportunities at its beginning are too early
    assert link.takes_s(0.0, 4 * PACKET_BITS, repeats=False) == np.inf
    assert link.takes_s(0.0, 3 * PACKET_BITS, repeats=False) == 5.0


@pytest.mark.oracle
@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(0, 100), st.integers(1, 60))
def test_packets_match_a_count(times_ms, begin_ms, packets):
    if max(times_ms) == 0:
        return
    times = sorted(times_ms)
    every = [times[-1] * repetition + time for repetition in range(60 * 101) for time in times]
    after = [time for time in every if time > begin_ms][packets - 1]
    link = Opportunities(np.array(times) * 1e-3)
    assert link.takes_s(begin_ms * 1e-3, packets * PACKET_BITS) == pytest.approx((after - begin_ms) * 1e-3, abs=1e-9)


# Signal-to-noise ratios


def test_an_snr_goes_through_the_rate_model():
    link = SnrSteps(np.array([0.0, 2.0]), np.array([0.0, 10 * np.log10(3.0)]), 4.0)
    carried = link.spectral_efficiency(SHANNON)
    assert carried.rate == pytest.approx([1.0, 2.0])
    assert carried.takes_s(0.0, 4.0) == pytest.approx(3.0)
    assert [link.snr(time_s) for time_s in (0.0, 1.9, 2.0, 4.0)] == pytest.approx([1.0, 1.0, 3.0, 1.0])
    assert link.snr(9.0, repeats=False) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Steps(np.array([0.5]), np.array([1.0]), 1.0), "0 at first"),
        (lambda: Steps(np.array([0.0, 0.0]), np.array([1.0, 1.0]), 1.0), "above the one before"),
        (lambda: Steps(np.array([0.0]), np.array([-1.0]), 1.0), "not below 0"),
        (lambda: Opportunities(np.array([2.0, 1.0])), "not below the one before"),
        (lambda: SnrSteps(np.array([0.0]), np.array([np.nan]), 1.0), "finite"),
    ],
)
def test_wrong_recordings_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()
