"""The widest share of use against brute force over widths, and the division that gives none more than that."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import allocation, mcs, rate
from channel.allocation import Shares
from channel.useful_width import best_snr, fill

BAND_HZ = 20e6
WIDTHS_HZ = np.geomspace(1.0, 1e12, 200_001)
MODELS = {
    "256qam": mcs.Mcs(),
    "64qam": mcs.Mcs(4.5, "64qam"),
    "truncated": rate.TRUNCATED,
    "uplink of TR 36.942": rate.Shannon(0.4, 0.1, 2.0),
    "from a high SNR on": rate.Shannon(1.0, 50.0, 6.0),
}


def equal(band_hz, rows):
    return allocation.equal(band_hz, rows.size)


@pytest.mark.oracle
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("fading", [False, True], ids=["steady", "Rayleigh"])
@pytest.mark.parametrize("snr_hz", [3e2, 1e6, 7e9])
def test_no_width_carries_more(model, fading, snr_hz):
    bps_hz = partial(rate.mean_rayleigh_bps_hz, model) if fading else model.bps_hz
    widest_hz = snr_hz / best_snr(bps_hz)
    ours_bps = widest_hz * float(bps_hz(np.array([snr_hz / widest_hz]))[0])
    all_bps = WIDTHS_HZ * bps_hz(snr_hz / WIDTHS_HZ)
    assert all_bps.max() <= ours_bps * (1 + 1e-9)
    assert all_bps.max() >= ours_bps * (1 - 1e-3)  # as near as the grid comes
    assert WIDTHS_HZ[all_bps.argmax()] == pytest.approx(widest_hz, rel=2e-2)


@pytest.mark.parametrize("table", ["64qam", "256qam"])
def test_best_snr_without_fading_is_the_lowest_threshold(table):
    model = mcs.Mcs(3.0, table)
    assert best_snr(model.bps_hz) == pytest.approx(model.thresholds[0], rel=1e-10)
    assert best_snr(model.bps_hz) > model.thresholds[0]
    assert best_snr(rate.TRUNCATED.bps_hz) == pytest.approx(0.1, rel=1e-10)


@pytest.mark.parametrize("k_db", [0.0, 5.0, 10.0, 15.0])
@pytest.mark.parametrize("model", [mcs.Mcs(), rate.TRUNCATED], ids=["mcs", "truncated"])
def test_the_share_for_rayleigh_fading_suits_a_line_of_sight(model, k_db):
    """As a scheduler does not know the law of the fading: at most 5 % below the best share for this K."""
    snr = np.append(best_snr(partial(rate.mean_rayleigh_bps_hz, model)), np.geomspace(1e-2, 1e1, 300))
    bits_a_power = rate.mean_ricean_bps_hz(model, snr, np.full(snr.size, 10 ** (k_db / 10))) / snr
    assert bits_a_power[0] > 0.95 * bits_a_power.max()


def test_a_rate_without_a_lowest_snr_has_no_widest_share():
    for model in (rate.SHANNON, rate.Shannon(0.6, 0.0, 4.4)):
        assert best_snr(model.bps_hz) == 0
        assert best_snr(partial(rate.mean_rayleigh_bps_hz, model)) == 0


def test_best_snr_is_0_if_nothing_is_received():
    assert best_snr(np.zeros_like) == 0


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(st.floats(1e2, 1e9), min_size=1, max_size=20))
def test_equal_shares_are_filled_like_vessels(widest_hz):
    """Each has what it can use or the common level; the band is divided as far as it is useful."""
    widest = np.array(widest_hz)
    shares = fill(BAND_HZ, widest, equal)
    assert (shares.bandwidth_hz <= widest).all()
    assert shares.bandwidth_hz.sum() == pytest.approx(min(BAND_HZ, widest.sum()), rel=1e-9)
    below = shares.bandwidth_hz < widest
    if below.any():
        level_hz = shares.bandwidth_hz[below].max()
        np.testing.assert_allclose(shares.bandwidth_hz, np.minimum(widest, level_hz), rtol=1e-9)
    np.testing.assert_array_equal(shares.duty, 1.0)


def test_unusable_width_is_divided_by_the_same_rule():
    """By payloads of 1, 2, 3 and 6 the last would have 6 Hz of 12: the others divide 5 of them as 1 : 2 : 3."""
    payload = np.array([1.0, 2.0, 3.0, 6.0])
    shares = fill(12.0, [9.0, 9.0, 9.0, 1.0], lambda band, rows: allocation.proportional(band, payload[rows]))
    np.testing.assert_allclose(shares.bandwidth_hz, [11 / 6, 11 / 3, 11 / 2, 1.0])


def test_useful_shares_are_unchanged():
    snr_hz = np.array([1e7, 1e8, 3e9])
    rule = partial(allocation.proportional_fair, efficiency=rate.SHANNON)
    shares = fill(BAND_HZ, np.full(3, BAND_HZ), lambda band, rows: rule(band, snr_hz[rows]))
    np.testing.assert_array_equal(shares.bandwidth_hz, rule(BAND_HZ, snr_hz).bandwidth_hz)


def test_empty_transfers_do_not_keep_others_from_a_share():
    payload = np.array([0.0, 1.0])
    shares = fill(10.0, [10.0, 10.0 / 3], lambda band, rows: allocation.proportional(band, payload[rows]))
    assert shares.bandwidth_hz[1] == 10.0 / 3
    assert shares.bandwidth_hz.sum() <= 10.0 * (1 + 1e-12)


def test_turn_has_the_useful_width():
    shares = fill(12.0, [3.0, 12.0], lambda band, rows: allocation.round_robin(band, rows.size))
    np.testing.assert_array_equal(shares.bandwidth_hz, [3.0, 12.0])
    np.testing.assert_array_equal(shares.duty, [0.5, 0.5])


def test_a_share_that_is_rounded_above_the_band_ends_the_search():
    """A rule may give away more than the band by rounding: then nothing is left, and no band below 0 is divided."""

    def rule(band_hz, rows):
        assert band_hz > 0
        return Shares(np.array([band_hz * (1 + 1e-12), 0.0])[rows], np.ones(rows.size))

    shares = fill(1.0, [1.0, 1.0], rule)
    np.testing.assert_array_equal(shares.bandwidth_hz, [1.0, 0.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, [1.0]), "band_hz = 0.0"),
        ((1.0, []), "widest_hz of shape"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        fill(*arguments, equal)
