"""The environment's height of UMa; the rest is in test_channel_path_loss.py."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from channel import uma


def probability_of_1m(d_2d, h_ut):
    """1 / (1 + C) of Table 7.4.1-1, note 1, a second time."""
    if h_ut < 13 or d_2d <= 18:
        return 1.0
    return 1 / (1 + ((h_ut - 13) / 10) ** 1.5 * 5 / 4 * (d_2d / 100) ** 3 * math.exp(-d_2d / 150))


@pytest.mark.parametrize(
    ("height_m", "others"), [(13.5, [12]), (16.5, [12, 15]), (18.0, [12, 15]), (22.5, [12, 15, 18, 21])]
)
def test_environment_height_has_its_distribution(height_m, others):
    u = np.random.default_rng(1).random(40_000)
    found, counts = np.unique(uma.environment_height_m(300.0, height_m, u), return_counts=True)
    np.testing.assert_array_equal(found, [1, *others])
    low = probability_of_1m(300.0, height_m)
    expected = u.size * np.array([low] + [(1 - low) / len(others)] * len(others))
    assert chisquare(counts, expected).pvalue > 0.01
    # the power to see the probability of the next 3 m class
    wrong = probability_of_1m(300.0, height_m + 3)
    assert binomtest(int(counts[0]), u.size, wrong).pvalue < 1e-6


def test_environment_height_by_its_inverse():
    low = probability_of_1m(300.0, 22.5)
    u = [0.0, low * 0.999, low * 1.001, low + (1 - low) * 0.26, low + (1 - low) * 0.51, low + (1 - low) * 0.76, 1.0]
    np.testing.assert_array_equal(uma.environment_height_m(300.0, 22.5, u), [1, 1, 12, 15, 18, 21, 21])


def test_low_or_near_terminals_need_no_draw():
    np.testing.assert_array_equal(uma.environment_height_m([10.0, 5_000.0], 12.99), 1.0)
    np.testing.assert_array_equal(uma.environment_height_m([10.0, 18.0], 22.5, [[0.999], [1.0]]), 1.0)
    np.testing.assert_array_equal(uma.environment_height_m(300.0, [1.5, 22.5], 0.999), [1.0, 21.0])
    np.testing.assert_array_equal(uma.environment_height_m(300.0, 13.2, 1 - 1e-6), 12.0)  # lower than any storey


@pytest.mark.parametrize("height_m", [13.0, 22.5])
def test_high_terminals_need_a_draw(height_m):
    with pytest.raises(ValueError, match=f"ut_height_m = {height_m} .* below 13 m where no draw for h_E is given"):
        uma.path_loss_db(300.0, 3.5e9, True, ut_height_m=[1.5, height_m])


def test_path_loss_uses_the_drawn_height():
    # h_E = 1 m: 300 m is before the break point; h_E = 21 m: d'_BP = 4 (25 - 21) (22.5 - 21) 3.5e9 / 3e8 = 280 m
    near_db, far_db = uma.path_loss_db(300.0, 3.5e9, True, 25.0, 22.5, [0.0, 0.999])
    d_3d = math.hypot(300.0, 2.5)
    assert near_db == pytest.approx(28 + 22 * math.log10(d_3d) + 20 * math.log10(3.5))
    expected_db = 28 + 40 * math.log10(d_3d) + 20 * math.log10(3.5) - 9 * math.log10(280.0**2 + 2.5**2)
    assert far_db == pytest.approx(expected_db)
    assert far_db > near_db + 0.5
