"""Antenna patterns against the printed values of TR 38.901, closed forms and the array's definition."""

import numpy as np
import pytest
from scipy.integrate import quad

from channel import antenna


def test_element_of_table_7_3_1():
    gain = antenna.element_gain_dbi
    assert gain(90.0, 0.0) == 8.0
    # Half of the power at half of the beamwidth, in each of the two cuts.
    assert gain(90.0, [-32.5, 32.5]) == pytest.approx(8.0 - 3.0)
    assert gain([57.5, 122.5], 0.0) == pytest.approx(8.0 - 3.0)
    # Attenuations add up, and end at 30 dB: behind, above, and in both ways at once.
    assert gain(122.5, 32.5) == pytest.approx(8.0 - 6.0)
    above_dbi = 8.0 - 12.0 * (90.0 / 65.0) ** 2
    found = gain([90.0, 0.0, 180.0, 0.0], [180.0, 0.0, 0.0, 180.0])
    assert found == pytest.approx([-22.0, above_dbi, above_dbi, -22.0])
    assert gain(90.0, [350.0, 370.0, -10.0]) == pytest.approx(float(gain(90.0, 10.0)))


def test_element_in_other_widths():
    narrow = antenna.element_gain_dbi(90.0, [0.0, 10.0, 90.0], gain_dbi=15.0, beamwidth_deg=20.0, front_to_back_db=25.0)
    assert narrow == pytest.approx([15.0, 12.0, -10.0])


@pytest.mark.parametrize("elements", [1, 4, 10])
@pytest.mark.parametrize("tilt_deg", [90.0, 102.0])
def test_column_is_the_sum_of_its_elements(elements, tilt_deg):
    zenith = np.linspace(0.0, 180.0, 721)
    phase = 2 * np.pi * 0.5 * np.arange(elements)
    weights = np.exp(-1j * phase * np.cos(np.radians(tilt_deg))) / np.sqrt(elements)
    field = np.exp(1j * phase * np.cos(np.radians(zenith))[:, None]) @ weights
    gain = antenna.column_gain_db(zenith, elements, 0.5, tilt_deg)
    assert 10 ** (gain / 10) == pytest.approx(np.abs(field) ** 2, abs=1e-9)
    assert antenna.column_gain_db(tilt_deg, elements, 0.5, tilt_deg) == pytest.approx(10 * np.log10(elements))
    assert gain.max() <= 10 * np.log10(elements) + 1e-9


def test_peak_of_the_sector_of_the_calibration():
    """8 dBi of an element and 10 log10(10) of the column; at 12 degrees of tilt the element gives 0.41 dB away."""
    level = antenna.element_gain_dbi(90.0, 0.0) + antenna.column_gain_db(90.0, 10, 0.5, 90.0)
    assert level == pytest.approx(18.0)
    down = antenna.element_gain_dbi(102.0, 0.0) + antenna.column_gain_db(102.0, 10, 0.5, 102.0)
    assert down == pytest.approx(18.0 - 12 * (12 / 65) ** 2)


def test_a_column_at_half_a_wavelength_loses_no_power():
    """Isotropic elements half a wavelength apart are uncoupled: the mean of the gain over the sphere is 1."""
    for elements, tilt_deg in (1, 90.0), (8, 90.0), (10, 102.0):

        def weighted(theta, elements=elements, tilt_deg=tilt_deg):
            gain_db = antenna.column_gain_db(np.degrees(theta), elements, 0.5, tilt_deg)
            return float(10 ** (gain_db / 10)) * np.sin(theta)

        assert quad(weighted, 0.0, np.pi, limit=400)[0] / 2 == pytest.approx(1.0, abs=1e-6)


def test_an_element_of_8_dbi_loses_1_8_db():
    """The pattern's directivity is 9.8 dBi, so a gain of 8 dBi has a loss of 1.8 dB in it (3GPP TR 37.840, 5.4.4)."""
    theta = np.linspace(0.25, 179.75, 360)
    phi = np.linspace(-179.75, 179.75, 720)
    gain = 10 ** (antenna.element_gain_dbi(theta[:, None], phi) / 10)
    mean = (gain.mean(axis=1) * np.sin(np.radians(theta))).sum() / np.sin(np.radians(theta)).sum()
    assert 10 * np.log10(mean) == pytest.approx(-1.8, abs=0.05)


def test_zenith_angles():
    assert antenna.zenith_deg([0.0, 0.0, 8.5, 10.0], 10.0, [1.5, 11.0, 1.5, 10.0]) == pytest.approx([180, 0, 135, 90])
    assert antenna.turned_deg([-540.0, -190.0, 180.0, 359.0]) == pytest.approx([-180.0, 170.0, -180.0, -1.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: antenna.element_gain_dbi(181.0, 0.0), "zenith = 181"),
        (lambda: antenna.column_gain_db(90.0, 0, 0.5, 90.0), "elements = 0"),
    ],
)
def test_out_of_range(call, message):
    with pytest.raises(ValueError, match=message):
        call()
