"""Sums of waves against Clarke's and Jakes' closed forms, in time, over the band and in distribution."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import j0

from channel import tdl, waves
from channel.rate import SHANNON

CHANNELS = 4000
TAPPED = 800  # channels of many taps
WAVES = 64
DOPPLER_HZ = 116.67
SLOT_S = 0.5e-3
KS_ONE_PERCENT = 1.63 / np.sqrt(CHANNELS)
FLAT = np.zeros(1)
LAGS = np.array([0, 1, 5, 7, 10, 14, 20, 60])


def flat(channels=CHANNELS, seed=1, doppler_hz=DOPPLER_HZ):
    draws = np.random.default_rng(seed).random((channels, 1, WAVES, 2))
    return waves.scatter(draws, doppler_hz, FLAT, np.ones(1))


def tapped(profile, spread_s, channels=CHANNELS, seed=2, per_tap=16):
    found = tdl.taps(profile, spread_s)
    rng = np.random.default_rng(seed)
    draws = rng.random((channels, found.delay_s.size, per_tap, 2))
    scattered = waves.scatter(draws, DOPPLER_HZ, found.delay_s, found.scatter_power)
    if found.line_power == 0:
        return scattered
    line = np.full(channels, found.line_power)
    return waves.with_line(scattered, line, np.full(channels, tdl.LOS_SHIFT * DOPPLER_HZ), rng.random(channels))


def fourth_moment_gap(channel):
    """Return the gap between finitely many waves and a Gaussian in E|H|^4: the sum of their |a|^4."""
    return float((np.abs(channel.amplitude) ** 4).sum(axis=(1, 2)).mean())


def direct_power(channel, row, slot, frequency_hz):
    """One gain, wave by wave."""
    time_s = slot * SLOT_S
    turns = np.exp(2j * np.pi * channel.shift_hz[row] * time_s)
    delays = np.exp(-2j * np.pi * frequency_hz * channel.delay_s[row])
    return abs((delays[:, None] * channel.amplitude[row] * turns).sum()) ** 2


@pytest.mark.oracle
def test_autocorrelation_is_j0():
    """E Re(g(0)* g(k)) within 4 standard errors; the paper's AR(1), rho^k, is 0.71 where J0 is -0.40."""
    gain = waves.tap_tiles(flat(), SLOT_S, 0, 1)[:, 0, 0]
    products = (gain[:, :1].conj() * gain[:, LAGS]).real
    expected = j0(2 * np.pi * DOPPLER_HZ * SLOT_S * LAGS)
    error = np.maximum(products.std(axis=0), 1e-6) / np.sqrt(CHANNELS)
    assert (np.abs(products.mean(axis=0) - expected) < 4 * error).all()
    rho = expected[1]
    assert abs(products.mean(axis=0)[4] - rho**10) > 20 * error[4]


def test_known_turns_change_no_bit():
    channels = flat(channels=3)
    known = waves.turns(channels, SLOT_S)
    later = waves.tap_tiles(channels, SLOT_S, 5, 2)
    assert np.array_equal(waves.tap_tiles(channels, SLOT_S, 5, 2, known), later)
    assert np.array_equal(waves.tap_tiles(channels, SLOT_S, 6, 1, known)[:, 0], later[:, 1])


@pytest.mark.oracle
def test_power_is_exponential():
    """Kolmogorov-Smirnov at 1 %; 5 % more power is seen."""
    power = waves.subband_power(flat(), SLOT_S, 0.0, 1, 777, 1)[:, 0, 0]
    assert stats.kstest(power, "expon").statistic < KS_ONE_PERCENT
    assert stats.kstest(1.05 * power, "expon").statistic < stats.kstest(1.10 * power, "expon").statistic
    assert stats.kstest(1.10 * power, "expon").statistic > KS_ONE_PERCENT
    # M waves lack 1/M of the variance.
    assert power.var() == pytest.approx(1 - 1 / WAVES, abs=4 * np.sqrt(8 / CHANNELS))


@pytest.mark.oracle
@pytest.mark.parametrize("k_db", [0.0, 9.0])
def test_a_line_of_sight_makes_it_ricean(k_db):
    k = 10 ** (k_db / 10)
    rng = np.random.default_rng(5)
    scattered = waves.scatter(rng.random((CHANNELS, 1, WAVES, 2)), DOPPLER_HZ, FLAT, np.full(1, 1 / (k + 1)))
    line = np.full(CHANNELS, k / (k + 1))
    channel = waves.with_line(scattered, line, 0.7 * DOPPLER_HZ, rng.random(CHANNELS))
    power = waves.subband_power(channel, SLOT_S, 0.0, 1, 321, 1)[:, 0, 0]
    law = stats.ncx2(2, 2 * k, scale=0.5 / (k + 1))
    assert stats.kstest(power, law.cdf).statistic < KS_ONE_PERCENT
    assert stats.kstest(1.10 * power, law.cdf).statistic > KS_ONE_PERCENT


@pytest.mark.parametrize("slot", [0, 255, 256, 1_000_003, 20_000_000])
def test_against_the_sum_itself(slot):
    channel = tapped("E", 300e-9, channels=3)
    power = waves.subband_power(channel, SLOT_S, 20e6, 4, slot, 1)
    for row in range(3):
        for band, frequency_hz in enumerate([-7.5e6, -2.5e6, 2.5e6, 7.5e6]):
            assert power[row, 0, band] == pytest.approx(direct_power(channel, row, slot, frequency_hz), abs=1e-7)


def test_slot_does_not_depend_on_the_other_slots_of_a_call():
    channel = tapped("C", 100e-9, channels=4)
    together = waves.subband_power(channel, SLOT_S, 20e6, 7, np.array([3, 5, 1000, 70_000]), 700)
    alone = waves.subband_power(channel.only(np.array([2])), SLOT_S, 20e6, 7, 1300, 20)
    np.testing.assert_array_equal(together[2, 300:320], alone[0])


@pytest.mark.oracle
@pytest.mark.parametrize(("profile", "spread_s"), [("A", 30e-9), ("D", 300e-9)])
def test_correlation_over_the_band_is_the_transform_of_the_delays(profile, spread_s):
    """Cov(|H(f)|^2, |H(f + d)|^2) = |R(d)|^2 for Gaussian gains, less the gap of finitely many waves."""
    channel = tapped(profile, spread_s, channels=TAPPED)
    found = tdl.taps(profile, spread_s)
    power = waves.subband_power(channel, SLOT_S, 1.0 / spread_s, 20, 0, 1)[:, 0]
    gap = fourth_moment_gap(channel)
    centred = power - 1.0
    for step in (0, 1, 2, 5, 12):
        products = centred[:, 0] * centred[:, step]
        expected = tdl.frequency_correlation(found, step / spread_s / 20) ** 2 - gap
        assert abs(products.mean() - expected) < 4 * products.std() / np.sqrt(TAPPED), step


@pytest.mark.oracle
@pytest.mark.parametrize("bandwidth_hz", [1e6, 40e6])
def test_the_wideband_rate_varies_less_as_the_delays_predict(bandwidth_hz):
    """A weak link's rate is linear in the powers: its variance is the mean of |R|^2 over pairs of sub-bands."""
    spread_s = 100e-9
    channel = tapped("A", spread_s, channels=TAPPED)
    count = int(waves.subbands(channel, np.full(TAPPED, bandwidth_hz))[0])
    assert count == np.clip(np.ceil(bandwidth_hz * waves.delay_spread_s(channel)[0] * 10), 1, 128)
    power = waves.subband_power(channel, SLOT_S, bandwidth_hz, count, 0, 1)[:, 0]
    rate = waves.mean_bps_hz(SHANNON, 1e-6, power) / (1e-6 / np.log(2))
    middle_hz = (np.arange(count) + 0.5) / count * bandwidth_hz
    offsets_hz = middle_hz[:, None] - middle_hz
    expected = (tdl.frequency_correlation(tdl.taps("A", spread_s), offsets_hz) ** 2).mean() - fourth_moment_gap(channel)
    squares = (rate - 1.0) ** 2
    assert abs(squares.mean() - expected) < 4 * squares.std() / np.sqrt(TAPPED)
    # The bandwidth over which the power correlates is about 1 / (2 pi spread): 1.6 MHz.
    assert expected == pytest.approx(1.0, abs=0.15) if bandwidth_hz == 1e6 else expected < 0.8


@pytest.mark.oracle
def test_without_delays_the_band_is_flat():
    """Every sub-band has the gain of all taps together, and one sub-band is enough."""
    channel = tapped("B", 0.0, channels=50)
    assert (waves.subbands(channel, np.full(50, 100e6)) == 1).all()
    power = waves.subband_power(channel, SLOT_S, 100e6, 8, 0, 300)
    np.testing.assert_allclose(power, np.broadcast_to(power[..., :1], power.shape), rtol=1e-12)
    np.testing.assert_allclose(power[..., :1], waves.subband_power(channel, SLOT_S, 0.0, 1, 0, 300), rtol=1e-12)


def test_at_rest_nothing_changes():
    still = flat(channels=3, doppler_hz=np.array([0.0, 10.0, 0.0]))
    assert still.constant.tolist() == [True, False, True]
    power = waves.subband_power(still, SLOT_S, 0.0, 1, 5, 1000)[..., 0]
    assert np.ptp(power[0]) < 1e-12 < np.ptp(power[1])


def test_subband_width_can_be_given():
    channel = tapped("A", 100e-9, channels=2)
    own = waves.Waves(channel.amplitude, channel.shift_hz, channel.delay_s, subband_hz=5e6)
    assert waves.subbands(own, np.array([4e6, 18e6])).tolist() == [1, 4]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: waves.scatter(np.zeros((2, 1, 4, 2)), -1.0, FLAT, np.ones(1)), "doppler_hz = -1.0"),
    ],
)
def test_waves_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_earlier_waves_equal_the_waves_at_an_earlier_time():
    uniform = np.random.default_rng(3).random((4, 1, 16, 2))
    now = waves.scatter(uniform, np.full(4, 100.0), np.zeros(1), np.ones(1))
    slot_s = 0.001
    band_hz = np.full(4, 1e6)
    before = waves.earlier(now, 7 * slot_s)
    found = waves.subband_power(before, slot_s, band_hz, 1, 10, 5)
    expected = waves.subband_power(now, slot_s, band_hz, 1, 3, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
