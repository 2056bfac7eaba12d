"""Tapped delay lines against more statements of TR 38.901: normalised delays, K-factors."""

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


def test_median_delay_spreads_match_table_7_7_3_2():
    """The "normal" profiles [ns] of that table, rounded there: UMi and UMa without line of sight, 6 to 70 GHz."""
    carriers_hz = [6e9, 15e9, 28e9, 39e9, 60e9, 70e9]
    normal_ns = {
        "umi": [93, 76, 66, 61, 55, 53],
        "uma": [363, 302, 266, 249, 228, 221],
    }
    for scenario, printed in normal_ns.items():
        found = [tdl.median_spread_s(scenario, carrier_hz, False, False) * 1e9 for carrier_hz in carriers_hz]
        np.testing.assert_allclose(found, printed, rtol=0.02)
    assert tdl.median_spread_s("rma", 3.5e9, [True, False], False) * 1e9 == pytest.approx([32.4, 37.2], abs=0.05)
    # Below 6 GHz UMa counts as 6 GHz, and UMi below 2 GHz as 2 GHz.
    assert tdl.median_spread_s("uma", 3.5e9, True, False) == tdl.median_spread_s("uma", 6e9, True, False)
    assert tdl.median_spread_s("umi", 1e9, True, False) == tdl.median_spread_s("umi", 2e9, True, False)
    # Into buildings, Table 7.5-6: lg DS = -6.62, in RMa -7.47, at every carrier, in line of sight outdoors or not.
    for scenario, level in (("umi", -6.62), ("uma", -6.62), ("rma", -7.47)):
        np.testing.assert_allclose(tdl.median_spread_s(scenario, 3.5e9, [True, False], indoor=True), 10**level)


SPREADS_19 = {  # lg DS of TR 38.901 V19.2, by Sionna 2.2.0: level, slope over lg(f + shift), shift, least f [GHz]
    ("umi", True): (-7.28, -0.18, 1.0, 2.0),
    ("umi", False): (-6.87, -0.22, 1.0, 2.0),
    ("uma", True): (-7.067, -0.0794, 0.0, 6.0),
    ("uma", False): (-6.47, -0.134, 0.0, 6.0),
}


@pytest.mark.parametrize(("scenario", "los"), SPREADS_19)
def test_delay_spreads_of_release_19(scenario, los):
    level, slope, shift, least_ghz = SPREADS_19[scenario, los]
    for ghz in (0.7, 3.5, 7.0, 15.0, 28.0):
        wanted = 10 ** (level + slope * np.log10(max(ghz, least_ghz) + shift))
        found = tdl.median_spread_s(scenario, ghz * 1e9, los, False, release=19)
        assert found == pytest.approx(wanted, rel=1e-12)
        assert found < tdl.median_spread_s(scenario, ghz * 1e9, los, False)


def test_release_19_keeps_the_other_delay_spreads():
    """RMa, offices, and the ways into buildings; without line of sight UMa at 3.5 GHz was 36 % longer before."""
    for scenario in ("rma", "inh"):
        for los in (True, False):
            before = tdl.median_spread_s(scenario, 6e9, los, False)
            assert tdl.median_spread_s(scenario, 6e9, los, False, release=19) == before
    for scenario in ("umi", "uma", "rma"):
        before = tdl.median_spread_s(scenario, 6e9, True, True)
        assert tdl.median_spread_s(scenario, 6e9, True, True, release=19) == before
    ratio = tdl.median_spread_s("uma", 3.5e9, False, False) / tdl.median_spread_s("uma", 3.5e9, False, False, 19)
    assert ratio == pytest.approx(1.366, abs=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tdl.median_spread_s("umi", 6e9, True, False, 17), "release = 17: it must be one of 16, 19"),
        (lambda: tdl.taps("A", 1e-7, 9.0), "profile A has none: choose D or E"),
        (lambda: tdl.median_spread_s("inh", 6e9, True, [False, True]), "indoor: inh has no loss into buildings"),
        (lambda: tdl.median_spread_s("free_space", 1e9, True, False), "scenario = free_space has no delay spread"),
    ],
)
def test_tdl_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
