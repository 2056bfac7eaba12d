import math

import numpy as np
import pytest

from channel import sidelink

DISTANCES_M = np.geomspace(1.0, 2e3, 12)


@pytest.mark.parametrize("carrier_hz", [0.7e9, 3.5e9, 6e9])
def test_against_the_power_laws(carrier_hz):
    ghz = carrier_hz / 1e9
    for los, factor, exponent, of_carrier in ((True, 38.77, 1.67, 1.82), (False, 36.85, 3.0, 1.89)):
        actual = sidelink.path_loss_db(DISTANCES_M, carrier_hz, los)
        expected = [factor - 10 * math.log10(d**-exponent * ghz**-of_carrier) for d in DISTANCES_M]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


def test_by_hand():
    # 100 m at 1 GHz: 38.77 + 33.4 and 36.85 + 60; ten times the carrier: 18.2 and 18.9 dB more
    np.testing.assert_allclose(sidelink.path_loss_db(100.0, 1e9, [True, False]), [72.17, 96.85], atol=1e-9)
    np.testing.assert_allclose(sidelink.path_loss_db(100.0, 10e9, [True, False]), [90.37, 115.75], atol=1e-9)


def test_line_of_sight():
    """Certain up to ln(1.05) / 0.0114 = 4.28 m, halved every ln(2) / 0.0114 = 60.8 m from there."""
    assert sidelink.los_probability([0.0, 4.2]).tolist() == [1.0, 1.0]
    border_m = math.log(1.05) / 0.0114
    half_m = math.log(2) / 0.0114
    np.testing.assert_allclose(sidelink.los_probability(border_m + half_m * np.arange(5)), 0.5 ** np.arange(5.0))


def test_out_of_range():
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"distance_3d_m = {bad} is out of range"):
            sidelink.path_loss_db([10.0, bad], 3.5e9, los=True)
        with pytest.raises(ValueError, match=f"carrier_hz = {bad} is out of range"):
            sidelink.path_loss_db(10.0, [3.5e9, bad], los=True)
    with pytest.raises(ValueError, match=r"distance_m = -1\.0 is out of range"):
        sidelink.los_probability([1.0, -1.0])
    with pytest.raises(ValueError, match="los must be boolean"):
        sidelink.path_loss_db(10.0, 3.5e9, 0.3)
