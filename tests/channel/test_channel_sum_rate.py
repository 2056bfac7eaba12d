"""The division with the highest sum of rates against brute force and a general solver."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from channel import rate
from channel.sum_rate import max_rate

BAND_HZ = 100e6
STEPS = 200  # of the band, in the brute force


def shannon(share_hz, snr_hz):
    """Rates without fading; a share of 0 carries nothing."""
    share = np.maximum(share_hz, 1e-30)
    return share * np.log2(1 + snr_hz / share)


def faded(share_hz, snr_hz):
    """Mean rates over Rayleigh fading."""
    share = np.maximum(share_hz, 1e-3)
    return share * rate.mean_rayleigh_bps_hz(rate.SHANNON, snr_hz / share)


def test_by_hand():
    np.testing.assert_allclose(max_rate(6.0, [1.0, 2.0, 3.0]).bandwidth_hz, [1.0, 2.0, 3.0])
    # Of 6 Hz each gets at least 1: the others divide 5 as 2 to 3.
    floor = max_rate(6.0, [0.1, 2.0, 3.0], least_share=0.5)
    np.testing.assert_allclose(floor.bandwidth_hz, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(max_rate(6.0, [0.1, 2.0, 3.0], least_share=1.0).bandwidth_hz, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(max_rate(6.0, [1.0, 2.0, 2.0], spread=True).bandwidth_hz, [0.0, 3.0, 3.0])
    np.testing.assert_array_equal(max_rate(6.0, [1, 2, 3], least_share=0.5, spread=True).bandwidth_hz, [1.0, 1.0, 4.0])


@pytest.mark.parametrize("rates", [shannon, faded])
def test_sum_is_the_bound_of_jensen(rates):
    snr_hz = 10 ** np.random.default_rng(1).uniform(6, 10, 20)
    share_hz = max_rate(BAND_HZ, snr_hz).bandwidth_hz
    bound_bps = rates(np.array([BAND_HZ]), np.array([snr_hz.sum()]))[0]
    assert rates(share_hz, snr_hz).sum() == pytest.approx(bound_bps, rel=1e-12)
    assert np.ptp(snr_hz / share_hz) < 1e-9 * snr_hz.sum() / BAND_HZ


@pytest.mark.parametrize("rates", [shannon, faded])
@pytest.mark.parametrize("least_share", [0.0, 0.3, 0.75])
def test_against_a_general_solver(rates, least_share):
    rng = np.random.default_rng(2)
    for count in (2, 5, 12):
        snr_hz = 10 ** rng.uniform(6.5, 9.5, count)
        share_hz = max_rate(BAND_HZ, snr_hz, least_share=least_share).bandwidth_hz
        floor = least_share / count
        found = minimize(
            lambda part, a=snr_hz: -rates(part * BAND_HZ, a).sum() / BAND_HZ,
            np.full(count, 1 / count),
            method="SLSQP",
            bounds=[(floor, 1.0)] * count,
            constraints={"type": "eq", "fun": lambda part: part.sum() - 1.0},
            options={"ftol": 1e-13, "maxiter": 500},
        )
        ours = rates(share_hz, snr_hz).sum() / BAND_HZ
        assert ours >= -found.fun - 1e-9
        np.testing.assert_allclose(share_hz / BAND_HZ, found.x, atol=2e-3)


@pytest.mark.oracle
@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("least_share", [0.0, 0.45])
def test_against_brute_force_on_three(spread, least_share):
    rng = np.random.default_rng(3)
    for _ in range(5):
        snr_hz = 10 ** rng.uniform(6, 9, 3)

        def total_bps(share_hz, snr_hz=snr_hz):
            if spread:
                return (share_hz * np.log2(1 + snr_hz / BAND_HZ)).sum()
            return shannon(share_hz, snr_hz).sum()

        best_bps = 0.0
        for first, second in product(range(STEPS + 1), repeat=2):
            third = STEPS - first - second
            if third >= 0 and min(first, second, third) >= least_share * STEPS / 3:
                best_bps = max(best_bps, total_bps(np.array([first, second, third]) * BAND_HZ / STEPS))
        ours_bps = total_bps(max_rate(BAND_HZ, snr_hz, least_share=least_share, spread=spread).bandwidth_hz)
        assert best_bps <= ours_bps * (1 + 1e-12)
        assert best_bps >= ours_bps * 0.99  # as near as the grid comes


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.floats(1e-3, 1e15), min_size=1, max_size=12), st.floats(0, 1), st.booleans())
def test_shares_conserve_and_keep_the_floor(snr_hz, least_share, spread):
    share_hz = max_rate(BAND_HZ, snr_hz, least_share=least_share, spread=spread).bandwidth_hz
    assert share_hz.sum() == pytest.approx(BAND_HZ, rel=1e-9)
    assert (share_hz >= least_share * BAND_HZ / len(snr_hz) * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, [1.0], {}), "band_hz = 0.0"),
        ((1.0, [1.0], {"least_share": 1.5}), "least_share = 1.5"),
    ],
)
def test_refuses(arguments, message):
    band_hz, snr_hz, keys = arguments
    with pytest.raises(ValueError, match=message):
        max_rate(band_hz, snr_hz, **keys)
