import math

import numpy as np
import pytest

from channel import free_space, units

DISTANCES_M = np.geomspace(1.0, 100e3, 9)
CARRIERS_HZ = np.array([0.5e9, 0.9e9, 2.4e9, 3.5e9, 100e9])


def test_against_the_power_that_an_aperture_catches():
    """P_t spread over a sphere, caught by the isotropic antenna's aperture lambda^2 / (4 pi)."""
    distance_m, carrier_hz = (axis.ravel() for axis in np.meshgrid(DISTANCES_M, CARRIERS_HZ))
    density_w_m2 = 1.0 / (4 * np.pi * distance_m**2)
    received_w = density_w_m2 * (3e8 / carrier_hz) ** 2 / (4 * np.pi)
    actual = units.db_to_linear(-free_space.path_loss_db(distance_m, carrier_hz))
    assert actual.size >= 40
    np.testing.assert_allclose(actual, received_w, rtol=1e-12)


def test_the_textbook_constant():
    # 32.45 + 20 log10(d_km) + 20 log10(f_MHz), with c = 299,792,458 m/s; 3.0e8 m/s is 0.006 dB less
    assert free_space.path_loss_db(1_000.0, 1e6 * 100) == pytest.approx(32.45 + 40, abs=0.01)


def test_far_field_only():
    assert free_space.path_loss_db(0.1, 3e9) == pytest.approx(20 * math.log10(4 * math.pi))  # one wavelength
    with pytest.raises(ValueError, match=r"distance_3d_m = 0\.099 is out of range: it must be at least a wavelength"):
        free_space.path_loss_db([1.0, 0.099], 3e9)


@pytest.mark.parametrize("quantity", ["distance_3d_m", "carrier_hz"])
@pytest.mark.parametrize("bad", [-1.0, 0.0, np.inf, np.nan])
def test_out_of_range(quantity, bad):
    with pytest.raises(ValueError, match=f"{quantity} = {bad} is out of range"):
        free_space.path_loss_db(**({"distance_3d_m": 10.0, "carrier_hz": 3.5e9} | {quantity: [1e9, bad]}))


def test_nothing_shadows():
    assert free_space.STATISTICS.shadowing_db == (0.0,)
    assert free_space.STATISTICS.k_mean_db is None
