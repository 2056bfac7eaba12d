import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import allocation, mcs, rate

BAND_HZ = 100e6
MODELS = [rate.SHANNON, rate.Shannon(0.75, 0.0, 7.4), rate.TRUNCATED, mcs.Mcs(), mcs.Mcs(table="64qam")]
IDS = ["shannon", "capped", "truncated", "mcs", "mcs64"]
EVERY_MODEL = pytest.mark.parametrize("model", MODELS, ids=IDS)


def population(seed, n, payload_decades=2.0):
    """Payloads and a = P psi / N0 as of a cell: 0 to 60 dB in 1 MHz."""
    rng = np.random.default_rng(seed)
    return 10 ** rng.uniform(6, 6 + payload_decades, n), 10 ** rng.uniform(6, 12, n)


def mean_bps(share_hz, snr_hz, model):
    """Mean rates on shares with all power on the share."""
    return share_hz * rate.mean_rayleigh_bps_hz(model, snr_hz / share_hz)


def utility(share_hz, snr_hz, model):
    return np.log(mean_bps(share_hz, snr_hz, model)).sum()


def mean_bps_hz(*, fading):
    """Return the mean rate as a function of the signal-to-noise ratio, with or without Rayleigh fading."""
    if fading:
        return lambda snr: rate.mean_rayleigh_bps_hz(rate.SHANNON, snr)
    return rate.SHANNON.bps_hz


def bisected_hz(function, target, low, high):
    """The argument in [low, high] at which a growing function reaches a target, by plain bisection of its logarithm."""
    for _ in range(60):
        middle = math.sqrt(low * high)
        if function(middle) < target:
            low = middle
        else:
            high = middle
    return high


def every_allocation(payload_bits, snr_hz, model):
    count = len(payload_bits)
    yield allocation.equal(BAND_HZ, count)
    yield allocation.round_robin(BAND_HZ, count)
    yield allocation.proportional(BAND_HZ, payload_bits)
    for spread in (False, True):
        for fading in (False, True):
            how = {"spread": spread, "fading": fading}
            yield allocation.min_makespan(BAND_HZ, payload_bits, snr_hz, model, **how)
            yield allocation.proportional_fair(BAND_HZ, snr_hz, model, **how)


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.tuples(st.one_of(st.just(0.0), st.floats(1.0, 1e12)), st.floats(1e-3, 1e15)), min_size=1, max_size=12),
    st.sampled_from(MODELS),
)
def test_shares_conserve(transfers, model):
    payload_bits, snr_hz = np.array(transfers).T
    for shares in every_allocation(payload_bits, snr_hz, model):
        assert math.isclose((shares.bandwidth_hz * shares.duty).sum(), BAND_HZ, rel_tol=1e-12)
        assert shares.bandwidth_hz.shape == shares.duty.shape == payload_bits.shape
        assert np.all((shares.bandwidth_hz >= 0) & (shares.duty > 0) & (shares.duty <= 1))


@EVERY_MODEL
@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_equals_are_treated_equally(model, n):
    for shares in every_allocation(np.full(n, 1e7), np.full(n, 1e11), model):
        np.testing.assert_allclose(shares.bandwidth_hz * shares.duty, BAND_HZ / n, rtol=1e-12)


def test_by_hand():
    np.testing.assert_array_equal(allocation.equal(12e6, 3).bandwidth_hz, [4e6, 4e6, 4e6])
    turns = allocation.round_robin(12e6, 3)
    np.testing.assert_array_equal(turns.bandwidth_hz, [12e6] * 3)
    np.testing.assert_array_equal(turns.duty, [1 / 3] * 3)
    np.testing.assert_allclose(allocation.proportional(12e6, [1.0, 0.0, 5.0]).bandwidth_hz, [2e6, 0.0, 10e6])
    np.testing.assert_allclose(allocation.proportional(12e6, [0.0, 0.0, 0.0]).bandwidth_hz, [4e6] * 3)
    # spread: efficiencies log2(1 + 1) = 1 and log2(1 + 3) = 2, so the weaker needs twice the share
    shares = allocation.min_makespan(12e6, [1.0, 1.0], [12e6, 36e6], spread=True, fading=False)
    np.testing.assert_allclose(shares.bandwidth_hz, [8e6, 4e6], rtol=1e-12)
    # concentrated: on 1 and 3 Hz, 1 * log2(1 + 1) = 1 and 3 * log2(1 + 1) = 3 bits/s
    shares = allocation.min_makespan(4.0, [1.0, 3.0], [1.0, 3.0], fading=False)
    np.testing.assert_allclose(shares.bandwidth_hz, [1.0, 3.0], rtol=1e-12)


@EVERY_MODEL
@pytest.mark.parametrize("payload_decades", [0.0, 2.0, 6.0])
def test_min_makespan_lets_all_finish_together(model, payload_decades):
    for n in (1, 2, 5, 30, 100):
        payload_bits, snr_hz = population(n, n, payload_decades)
        snr_hz = snr_hz * 1e3  # strong enough for the whole band, also where a model has a lowest SNR
        share_hz = allocation.min_makespan(BAND_HZ, payload_bits, snr_hz, model).bandwidth_hz
        finish_s = payload_bits / mean_bps(share_hz, snr_hz, model)
        np.testing.assert_allclose(finish_s, finish_s.mean(), rtol=1e-9)


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(1e-3, 1e15)), min_size=1, max_size=12))
def test_min_makespan_of_extreme_links(transfers):
    payload_bits, snr_hz = np.array(transfers).T
    share_hz = allocation.min_makespan(BAND_HZ, payload_bits, snr_hz).bandwidth_hz
    finish_s = payload_bits / mean_bps(share_hz, snr_hz, rate.SHANNON)
    np.testing.assert_allclose(finish_s, finish_s.mean(), rtol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("fading", [False, True])
def test_min_makespan_against_nested_bisection(fading):
    payload_bits, snr_hz = population(3, 4)
    mean = mean_bps_hz(fading=fading)

    def shares_hz(finish_s):
        return [
            bisected_hz(lambda w, a=a: float(w * mean(a / w)), bits / finish_s, 1e-3, 1e12)
            for bits, a in zip(payload_bits, snr_hz, strict=True)
        ]

    finish_s = 1 / bisected_hz(lambda speed: sum(shares_hz(1 / speed)), BAND_HZ, 1e-3, 1e3)
    expected = np.array(shares_hz(finish_s))
    shares = allocation.min_makespan(BAND_HZ, payload_bits, snr_hz, fading=fading)
    np.testing.assert_allclose(shares.bandwidth_hz, expected, rtol=1e-7)


@pytest.mark.parametrize("model", MODELS[2:], ids=IDS[2:])
def test_min_makespan_gives_no_transfer_more_than_it_can_use(model):
    snr_hz = np.array([1e5, 1e13, 1e13])  # the first is 30 dB below the noise on the whole band
    share_hz = allocation.min_makespan(BAND_HZ, [1e6, 1e6, 3e6], snr_hz, model).bandwidth_hz
    widths_hz = np.geomspace(1e3, 1e8, 20_000)
    best_hz = widths_hz[np.argmax(mean_bps(widths_hz, snr_hz[0], model))]
    np.testing.assert_allclose(share_hz[0], best_hz, rtol=0.03)
    finish_s = np.array([1e6, 1e6, 3e6]) / mean_bps(share_hz, snr_hz, model)
    np.testing.assert_allclose(finish_s[1], finish_s[2], rtol=1e-9)
    assert finish_s[0] > finish_s[1]


@EVERY_MODEL
def test_min_makespan_with_spread_power(model):
    payload_bits, snr_hz = population(6, 30)
    snr_hz = snr_hz * 1e3
    share_hz = allocation.min_makespan(BAND_HZ, payload_bits, snr_hz, model, spread=True).bandwidth_hz
    finish_s = payload_bits / (share_hz * rate.mean_rayleigh_bps_hz(model, snr_hz / BAND_HZ))
    np.testing.assert_allclose(finish_s, finish_s.mean(), rtol=1e-12)


def test_nothing_to_send_gets_nothing():
    payload_bits = np.array([1e6, 0.0, 2e6])
    snr_hz = np.array([1e10, 1e4, 1e12])
    for spread in (False, True):
        shares = allocation.min_makespan(BAND_HZ, payload_bits, snr_hz, spread=spread)
        without = allocation.min_makespan(BAND_HZ, payload_bits[[0, 2]], snr_hz[[0, 2]], spread=spread)
        assert shares.bandwidth_hz[1] == 0
        np.testing.assert_array_equal(shares.bandwidth_hz[[0, 2]], without.bandwidth_hz)
        nothing = allocation.min_makespan(BAND_HZ, np.zeros(3), snr_hz, spread=spread)
        np.testing.assert_allclose(nothing.bandwidth_hz, BAND_HZ / 3)


@EVERY_MODEL
def test_proportional_fair_is_the_optimum(model):
    _, snr_hz = population(7, 20)
    snr_hz = snr_hz * 1e3
    rng = np.random.default_rng(8)
    share_hz = allocation.proportional_fair(BAND_HZ, snr_hz, model).bandwidth_hz
    step = 1e-4
    up, down = (np.log(mean_bps(share_hz * (1 + sign * step), snr_hz, model)) for sign in (1, -1))
    pull = (up - down) / (2 * step * share_hz)  # R'/R: equal for all
    np.testing.assert_allclose(pull, pull.mean(), rtol=2e-3)
    for scale in np.repeat([1e-3, 1e-2, 0.3], 30):
        other_hz = share_hz * np.exp(rng.normal(0, scale, 20))
        other_hz *= BAND_HZ / other_hz.sum()
        assert utility(other_hz, snr_hz, model) < utility(share_hz, snr_hz, model) + 1e-9
    assert utility(share_hz, snr_hz, model) > utility(np.full(20, BAND_HZ / 20), snr_hz, model)


def test_proportional_fair_against_a_search():
    for fading in (True, False):
        snr_hz = np.array([1e7, 1e11])
        mean = mean_bps_hz(fading=fading)
        first_hz = np.linspace(0.5e6, 99.5e6, 99_001)
        sums = sum(np.log(w * mean(a / w)) for w, a in zip((first_hz, BAND_HZ - first_hz), snr_hz, strict=True))
        shares = allocation.proportional_fair(BAND_HZ, snr_hz, fading=fading)
        assert shares.bandwidth_hz[0] == pytest.approx(first_hz[np.argmax(sums)], rel=1e-3)


def test_proportional_fair_of_a_strong_cell_is_equal():
    # at a high SNR the rate is almost proportional to the bandwidth, and with spread power it is
    _, snr_hz = population(9, 10)
    strong = allocation.proportional_fair(BAND_HZ, snr_hz * 1e30).bandwidth_hz
    np.testing.assert_allclose(strong, BAND_HZ / 10, rtol=0.02)
    np.testing.assert_array_equal(allocation.proportional_fair(BAND_HZ, snr_hz, spread=True).bandwidth_hz, BAND_HZ / 10)


@EVERY_MODEL
def test_order_does_not_matter(model):
    payload_bits, snr_hz = population(10, 25)
    order = np.random.default_rng(11).permutation(25)
    pairs = zip(
        every_allocation(payload_bits, snr_hz, model),
        every_allocation(payload_bits[order], snr_hz[order], model),
        strict=True,
    )
    for shares, shuffled in pairs:
        np.testing.assert_allclose(shares.bandwidth_hz[order], shuffled.bandwidth_hz, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: allocation.equal(0.0, 3), "band_hz = 0.0"),
        (lambda: allocation.proportional(1e6, [1.0, -1.0]), "payload_bits = -1.0"),
        (lambda: allocation.min_makespan(1e6, [1.0], [0.0]), "snr_hz = 0.0"),
        (lambda: allocation.min_makespan(1e6, [1.0, 2.0], [1.0]), r"snr_hz of shape \(1,\) must hold 2 numbers"),
        (lambda: allocation.proportional_fair(1e6, []), r"snr_hz of shape \(0,\)"),
    ],
)
def test_allocation_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
