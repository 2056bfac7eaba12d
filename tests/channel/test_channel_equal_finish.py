"""The division whose transfers all end together, though they begin at different times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from channel import allocation, mcs, rate
from channel.equal_finish import equal_finish

BAND_HZ = 20e6


def mean_shannon(snr):
    """Shannon's mean rate over Rayleigh fading."""
    return rate.mean_rayleigh_bps_hz(rate.SHANNON, snr)


def end_s(share_hz, bits, snr_hz, ready_s, bps_hz=rate.SHANNON.bps_hz):
    """Return the times at which transfers end that have a share each; without a share they never do."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sending_s = bits / (share_hz * bps_hz(snr_hz / np.maximum(share_hz, 1e-9)))
    return ready_s + np.where(share_hz > 0, sending_s, np.inf)


def cell(seed, count):
    """Payloads, P psi / N0 and times at which devices are ready, of the order of what they send in."""
    rng = np.random.default_rng(seed)
    bits = 10 ** rng.uniform(5.5, 6.5, count)
    snr_hz = 10 ** rng.uniform(6.5, 10, count)
    together_s = (bits / snr_hz).max() + bits.sum() / BAND_HZ
    return bits, snr_hz, rng.uniform(0, together_s, count)


@pytest.mark.parametrize("bps_hz", [rate.SHANNON.bps_hz, mean_shannon])
@pytest.mark.parametrize("count", [1, 2, 3, 20, 100])
def test_all_end_together(count, bps_hz):
    bits, snr_hz, ready_s = cell(count, count)
    share_hz = equal_finish(BAND_HZ, bits, snr_hz, ready_s, bps_hz).bandwidth_hz
    assert share_hz.sum() == pytest.approx(BAND_HZ, rel=1e-12)
    last_s = end_s(share_hz, bits, snr_hz, ready_s, bps_hz)
    np.testing.assert_allclose(last_s, last_s[0], rtol=1e-9)


@pytest.mark.oracle
def test_against_a_general_solver():
    for seed in range(3):
        bits, snr_hz, ready_s = cell(seed, 20)
        share_hz = equal_finish(BAND_HZ, bits, snr_hz, ready_s, rate.SHANNON.bps_hz).bandwidth_hz
        ours_s = end_s(share_hz, bits, snr_hz, ready_s).max()

        def left_s(unknown, bits=bits, snr_hz=snr_hz, ready_s=ready_s):
            return unknown[-1] - end_s(unknown[:-1] * BAND_HZ, bits, snr_hz, ready_s)

        equal = np.full(20, 1 / 20)
        start = np.append(equal, end_s(equal * BAND_HZ, bits, snr_hz, ready_s).max())
        found = minimize(
            lambda unknown: unknown[-1],
            start,
            method="SLSQP",
            bounds=[(1e-6, 1)] * 20 + [(0, None)],
            constraints=[
                {"type": "eq", "fun": lambda unknown: unknown[:-1].sum() - 1},
                {"type": "ineq", "fun": left_s},
            ],
            options={"ftol": 1e-12, "maxiter": 1000},
        )
        assert found.success
        assert ours_s == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize("fading", [False, True])
@pytest.mark.parametrize("spread", [False, True])
def test_equal_beginnings_give_the_shares_of_min_makespan(spread, fading):
    bits, snr_hz, _ = cell(7, 12)
    bps_hz = mean_shannon if fading else rate.SHANNON.bps_hz
    for ready_s in (0.0, 3.0):
        ours = equal_finish(BAND_HZ, bits, snr_hz, np.full(12, ready_s), bps_hz, spread=spread)
        expected = allocation.min_makespan(BAND_HZ, bits, snr_hz, spread=spread, fading=fading)
        np.testing.assert_allclose(ours.bandwidth_hz, expected.bandwidth_hz, rtol=1e-8)


def test_spread_power():
    # Efficiencies of 1 and 2 on the whole band of 12 Hz; the second one is ready 1 s later.
    shares = equal_finish(12.0, [24.0, 12.0], [12.0, 36.0], [0.0, 1.0], rate.SHANNON.bps_hz, spread=True)
    ends_s = np.array([24.0 / shares.bandwidth_hz[0], 1 + 6.0 / shares.bandwidth_hz[1]])
    np.testing.assert_allclose(ends_s[0], ends_s[1], rtol=1e-9)
    assert shares.bandwidth_hz.sum() == pytest.approx(12.0)


def test_transfer_too_weak_for_the_last_end_keeps_its_useful_width():
    truncated = rate.Shannon(attenuation=0.6, min_snr=0.1, max_bps_hz=4.4).bps_hz
    bits = np.array([1e6, 1e6, 1e6])
    snr_hz = np.array([1e5, 1e10, 1e10])
    ready_s = np.array([0.0, 0.0, 0.01])
    share_hz = equal_finish(BAND_HZ, bits, snr_hz, ready_s, truncated).bandwidth_hz
    assert share_hz[0] == pytest.approx(1e6, rel=0.02)  # 1e5 / 0.1: on more its SNR is below the lowest
    ends_s = end_s(share_hz, bits, snr_hz, ready_s, truncated)
    assert ends_s[1] == pytest.approx(ends_s[2], rel=1e-9)
    assert ends_s[0] > ends_s[1]


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(
        st.tuples(st.one_of(st.just(0.0), st.floats(1.0, 1e8)), st.floats(1e3, 1e12), st.floats(0, 1e3)),
        min_size=1,
        max_size=10,
    ),
    st.sampled_from([rate.SHANNON.bps_hz, mean_shannon, mcs.Mcs().bps_hz]),
    st.booleans(),
)
def test_shares_conserve(transfers, bps_hz, spread):
    bits, snr_hz, ready_s = np.array(transfers).T
    if spread:
        snr_hz = np.maximum(snr_hz, BAND_HZ)  # a scheme exists on the whole band
    shares = equal_finish(BAND_HZ, bits, snr_hz, ready_s, bps_hz, spread=spread)
    assert shares.bandwidth_hz.sum() == pytest.approx(BAND_HZ, rel=1e-9)
    assert ((shares.bandwidth_hz > 0) == ((bits > 0) | (not bits.any()))).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, [1.0], [1.0], [0.0]), "band_hz = 0.0"),
        ((1.0, [1.0], [1.0], [0.0, 1.0]), "ready_s of shape"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        equal_finish(*arguments, rate.SHANNON.bps_hz)
