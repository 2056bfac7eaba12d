import math

import numpy as np
import pytest
from scipy.stats import kstest

from channel import penetration

CARRIERS_GHZ = np.geomspace(0.5, 100.0, 25)


def wall_table(f, high):
    """Tables 7.4.3-1 and 7.4.3-2 a second time, as shares of power that get through."""
    concrete = 10 ** (-(5 + 4 * f) / 10)
    glass = 10 ** (-(23 + 0.3 * f) / 10) if high else 10 ** (-(2 + 0.2 * f) / 10)
    through = 0.7 * glass + 0.3 * concrete if high else 0.3 * glass + 0.7 * concrete
    return 5 - 10 * math.log10(through)


@pytest.mark.parametrize("high", [True, False])
def test_wall_against_the_table_computed_twice(high):
    expected = [wall_table(f, high) for f in CARRIERS_GHZ]
    np.testing.assert_allclose(penetration.wall_db(CARRIERS_GHZ * 1e9, high), expected, rtol=0, atol=1e-9)


def test_materials_by_hand():
    materials = penetration.glass_db, penetration.irr_glass_db, penetration.concrete_db
    np.testing.assert_allclose([loss(1e9) for loss in materials], [2.2, 23.3, 9.0])
    np.testing.assert_allclose([loss(100e9) for loss in materials], [22.0, 53.0, 405.0])


def test_glass_of_release_19():
    np.testing.assert_allclose([penetration.irr_glass_db(f * 1e9, 19) for f in (1, 30)], [25.51, 28.7])
    # At 3.5 GHz: glass 25.785, concrete 19 dB; both losses add up to 27.50 dB through the wall.
    through = 0.7 * 10**-2.5785 + 0.3 * 10**-1.9
    assert penetration.wall_db(3.5e9, True, 19) == pytest.approx(5 - 10 * math.log10(through), abs=1e-9)
    assert penetration.wall_db(3.5e9, True, 19) == pytest.approx(27.50, abs=0.005)
    np.testing.assert_array_equal(penetration.wall_db(3.5e9, False, 19), penetration.wall_db(3.5e9, False))
    # The two glasses cross at 12.6 GHz: in V19 the loss at 28 GHz is lower, not higher.
    assert penetration.loss_db(28e9, 5.0, True, release=19) < penetration.loss_db(28e9, 5.0, True)
    with pytest.raises(ValueError, match="release = 17: it must be one of 16, 19"):
        penetration.irr_glass_db(3.5e9, 17)


def test_single_frequency_loss():
    """Table 7.4.3-3: 20 dB and half a decibel a metre, to 25 m."""
    inside_m = penetration.single_frequency_indoor_distance_m([0.0, 0.4, 1.0])
    np.testing.assert_allclose(inside_m, [0.0, 10.0, 25.0])
    np.testing.assert_allclose(penetration.single_frequency_loss_db(inside_m), [20.0, 25.0, 32.5])
    with pytest.raises(ValueError, match="out of range"):
        penetration.single_frequency_indoor_distance_m(1.1)
    with pytest.raises(ValueError, match="out of range"):
        penetration.single_frequency_loss_db(-1.0)


def test_floors_by_hand():
    # Buildings of 4, 4, 6 and 8 floors; the first, the last, the fourth, the last.
    u = [[0.0, 0.0], [0.1, 1.0], [0.5, 0.5], [1.0, 0.99]]
    np.testing.assert_allclose(penetration.floor_height_m(u), [1.5, 10.5, 10.5, 22.5])
    np.testing.assert_allclose(penetration.floor_height_m([0.3, 0.9], (1, 1)), 1.5)
    for floors in ((0, 4), (5, 4)):
        with pytest.raises(ValueError, match="floors = "):
            penetration.floor_height_m([0.5, 0.5], floors)
    with pytest.raises(ValueError, match="two draws"):
        penetration.floor_height_m([0.1, 0.2, 0.3])


def test_wall_by_hand():
    # 3.5 GHz: glass 2.7, infrared-reflecting glass 24.05, concrete 19 dB
    assert penetration.wall_db(3.5e9, False) == pytest.approx(12.69, abs=0.01)
    assert penetration.wall_db(3.5e9, True) == pytest.approx(26.85, abs=0.01)
    # concrete blocks everything at 100 GHz, so only the glass counts
    assert penetration.wall_db(100e9, False) == pytest.approx(5 + 22 - 10 * math.log10(0.3), abs=1e-6)
    assert penetration.wall_db(100e9, True) == pytest.approx(5 + 53 - 10 * math.log10(0.7), abs=1e-6)


def test_loss_adds_up():
    wall_db = penetration.wall_db(3.5e9, [False, True])
    np.testing.assert_allclose(penetration.loss_db(3.5e9, 0.0, [False, True]), wall_db)
    np.testing.assert_allclose(penetration.loss_db(3.5e9, 20.0, [False, True]), wall_db + 10.0)
    np.testing.assert_allclose(penetration.loss_db(3.5e9, 20.0, [False, True], -2.0), wall_db + 10.0 - [8.8, 13.0])


@pytest.mark.parametrize("depth_m", [25.0, 10.0])
def test_indoor_distance_is_the_smaller_of_two(depth_m):
    draws = np.random.default_rng(1).random((5_000, 2))
    distance_m = penetration.indoor_distance_m(draws, depth_m)
    np.testing.assert_allclose(distance_m[:20], [min(depth_m * a, depth_m * b) for a, b in draws[:20]])
    # F(d) = 1 - (1 - d/D)^2; one draw alone, or the larger of two, would be seen
    assert kstest(distance_m, lambda d: 1 - (1 - d / depth_m) ** 2).pvalue > 0.01
    assert kstest(distance_m, lambda d: d / depth_m).pvalue < 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"carrier_hz": 0.49e9}, "carrier_hz = 490000000.0 is out of range"),
        ({"indoor_distance_m": np.nan}, "indoor_distance_m = nan is out of range"),
        ({"high_loss": 0.5}, "high_loss must be boolean"),
    ],
)
def test_refusals(arguments, message):
    good = {"carrier_hz": 3.5e9, "indoor_distance_m": 5.0, "high_loss": True, "normal": 0.0}
    with pytest.raises(ValueError, match=message):
        penetration.loss_db(**(good | arguments))


def test_draws_come_in_pairs():
    with pytest.raises(ValueError, match="two draws in its last axis"):
        penetration.indoor_distance_m([0.1, 0.2, 0.3])
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match=f"u = {bad} is out of range"):
            penetration.indoor_distance_m([0.5, bad])
