"""Tapped delay lines against what TR 38.901 says of them beside the tables: normalised delays, K-factors."""

import numpy as np
import pytest

from channel import tdl


@pytest.mark.parametrize("profile", tdl.PROFILES)
def test_normalised_delays_have_a_delay_spread_of_one(profile):
    """A slip in any of the 97 delays or powers moves the delay spread; D as printed is 0.6 % short."""
    found = tdl.taps(profile, 1.0)
    power = found.scatter_power.copy()
    power[0] += found.line_power
    assert power.sum() == pytest.approx(1.0, abs=1e-12)
    assert tdl.rms_delay_spread(found.delay_s, power) == pytest.approx(1.0, abs=0.0065 if profile == "D" else 3e-4)


def test_the_first_taps_of_d_and_e_have_the_printed_k_factors():
    for profile, k_db in (("D", 13.3), ("E", 22.0)):
        found = tdl.taps(profile, 1e-7)
        assert 10 * np.log10(found.line_power / found.scatter_power[0]) == pytest.approx(k_db, abs=1e-9)
    assert [tdl.taps(profile, 1e-7).line_power for profile in "ABC"] == [0.0, 0.0, 0.0]
    assert [tdl.taps(profile, 1e-7).delay_s.size for profile in "ABCDE"] == [23, 23, 24, 13, 14]


@pytest.mark.parametrize("k_db", [-5.0, 0.0, 9.0, 20.0])
def test_a_k_factor_leaves_power_and_delay_spread(k_db):
    for profile in tdl.LOS_PROFILES:
        found = tdl.taps(profile, 300e-9, k_db)
        power = found.scatter_power.copy()
        power[0] += found.line_power
        assert power.sum() == pytest.approx(1.0, abs=1e-12)
        assert 10 * np.log10(found.line_power / found.scatter_power.sum()) == pytest.approx(k_db, abs=1e-9)
        assert tdl.rms_delay_spread(found.delay_s, power) == pytest.approx(300e-9, rel=1e-9)


def test_frequency_correlation_by_hand():
    """Two equal taps 1 us apart: |1 + exp(-j 2 pi f us)| / 2, 0 at 500 kHz."""
    two = tdl.Taps(np.array([0.0, 1e-6]), np.array([0.5, 0.5]), 0.0)
    np.testing.assert_allclose(
        tdl.frequency_correlation(two, [0.0, 250e3, 500e3, 1e6]), [1, 0.5**0.5, 0, 1], atol=1e-12
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tdl.taps("F", 1e-7), "profile = F is no delay profile"),
        (lambda: tdl.taps("A", 1e-7, 9.0), "profile A has none: choose D or E"),
        (lambda: tdl.taps("A", -1e-7), "delay_spread_s = -1e-07"),
        (lambda: tdl.taps("D", 1e-7, np.nan), "k_db = nan"),
    ],
)
def test_tdl_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
