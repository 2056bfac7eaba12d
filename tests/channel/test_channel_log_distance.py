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


def test_distances_below_the_reference_are_priced():
    """128.1 + 37.6 log10(d / km) in a cell of 500 m: 86.66 dB at 79 m, where the border had 128.1."""
    textbook = {"carrier_hz": 2e9, "exponent": 3.76, "reference_m": 1_000.0, "reference_loss_db": 128.1}
    assert log_distance.path_loss_db(79.0, **textbook) == pytest.approx(128.1 + 37.6 * math.log10(0.079))
    assert log_distance.path_loss_db(79.0, **textbook) == pytest.approx(86.66, abs=0.01)
    zero_m = 1_000 * 10 ** (-128.1 / 37.6)
    assert log_distance.shortest_m(**textbook) == pytest.approx(zero_m)
    assert log_distance.path_loss_db(zero_m, **textbook) == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(ValueError, match="is out of range: it must be where the path loss is 0 dB or more"):
        log_distance.path_loss_db([1.0, 0.99 * zero_m], **textbook)


def test_from_the_reference_on_where_its_loss_is_not_above_zero():
    for loss_db in (0.0, -20.0):
        assert log_distance.shortest_m(3.5e9, 2.0, 3.0, loss_db) == 3.0
        with pytest.raises(ValueError, match="is out of range"):
            log_distance.path_loss_db(2.9, 3.5e9, 2.0, 3.0, loss_db)


def test_a_slope_that_hardly_falls_holds_from_almost_nothing_on():
    assert log_distance.shortest_m(3.5e9, 1e-9, 1.0, 80.0) == pytest.approx(1e-9)


def test_free_space_holds_at_the_reference():
    with pytest.raises(ValueError, match="at least a wavelength"):  # free space does not hold at the reference
        log_distance.path_loss_db(1.0, 3.5e9, 3.0, 0.01)
    assert log_distance.path_loss_db(1.0, 3.5e9, 3.0, 0.01, 0.0) == pytest.approx(60.0)
