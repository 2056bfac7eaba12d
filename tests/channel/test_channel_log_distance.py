import math

import numpy as np
import pytest

from channel import free_space, log_distance

DISTANCES_M = np.geomspace(1.0, 10e3, 11)


@pytest.mark.parametrize("carrier_hz", [0.5e9, 3.5e9, 28e9])
def test_exponent_two_is_free_space(carrier_hz):
    actual = log_distance.path_loss_db(DISTANCES_M, carrier_hz, 2.0)
    np.testing.assert_allclose(actual, free_space.path_loss_db(DISTANCES_M, carrier_hz), rtol=0, atol=1e-9)


@pytest.mark.parametrize("exponent", [1.6, 2.7, 3.0, 5.0])
@pytest.mark.parametrize("reference_m", [1.0, 100.0])
def test_against_the_power_law(exponent, reference_m):
    distance_m = reference_m * DISTANCES_M
    actual = log_distance.path_loss_db(distance_m, 3.5e9, exponent, reference_m, 60.0)
    expected = [60 - 10 * math.log10((reference_m / d) ** exponent) for d in distance_m]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


def test_by_hand():
    # 3.5 GHz: 20 log10(4 pi 3.5e9 / 3e8) = 43.324 dB at 1 m, and 30 dB more each decade
    np.testing.assert_allclose(
        log_distance.path_loss_db([1, 10, 100], 3.5e9, 3.0), [43.324, 73.324, 103.324], atol=1e-3
    )
    assert log_distance.path_loss_db(1_000.0, 3.5e9, 4.0, 100.0) == pytest.approx(43.324 + 40 + 40, abs=1e-3)


GOOD = {"distance_3d_m": 50.0, "carrier_hz": 3.5e9, "exponent": 3.0, "reference_m": 1.0, "reference_loss_db": 40.0}


@pytest.mark.parametrize("quantity", GOOD)
def test_out_of_range(quantity):
    for bad in (np.nan, np.inf, *(() if quantity == "reference_loss_db" else (0.0, -1.0))):
        with pytest.raises(ValueError, match=f"{quantity} = {bad} is out of range"):
            log_distance.path_loss_db(**(GOOD | {quantity: [GOOD[quantity], bad]}))


def test_not_below_the_reference():
    with pytest.raises(ValueError, match=r"distance_3d_m = 9\.9 is out of range: it must be at least reference_m"):
        log_distance.path_loss_db([10.0, 9.9], 3.5e9, 3.0, 10.0)
    with pytest.raises(ValueError, match="at least a wavelength"):  # free space does not hold at the reference
        log_distance.path_loss_db(1.0, 3.5e9, 3.0, 0.01)
    assert log_distance.path_loss_db(1.0, 3.5e9, 3.0, 0.01, 0.0) == pytest.approx(60.0)
