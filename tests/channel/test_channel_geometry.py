import numpy as np
import pytest
from scipy import stats

from channel import geometry, umi


def cdf(distance_m, inner_m=10.0, outer_m=250.0):
    return (distance_m**2 - inner_m**2) / (outer_m**2 - inner_m**2)


def test_annulus_inverts_its_cdf():
    u = np.linspace(0, 1, 101)
    distance_m = geometry.annulus_distance_m(u, 10.0, 250.0)
    np.testing.assert_allclose(cdf(distance_m), u, atol=1e-12)
    np.testing.assert_allclose(distance_m[[0, -1]], [10.0, 250.0], rtol=1e-12)


def test_annulus_distribution():
    distance_m = geometry.annulus_distance_m(np.random.default_rng(1).random(20_000), 10.0, 250.0)
    assert stats.kstest(distance_m, cdf).pvalue > 0.01
    # the test has the power to tell a uniform radius from a uniform area
    assert stats.kstest(np.random.default_rng(1).uniform(10, 250, 20_000), cdf).pvalue < 1e-6


def test_the_inner_border_is_a_valid_place():
    for inner_m in 10.0 * (1 + np.arange(50) * 1e-3):
        placed_m = geometry.annulus_distance_m(0.0, inner_m, 250.0)
        np.testing.assert_allclose(placed_m, inner_m, rtol=1e-12)
    umi.path_loss_db(geometry.annulus_distance_m(0.0, 10.0, 250.0) * (1 - 1e-12), 3.5e9, los=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, -0.1], 10.0, 250.0), "u = -0.1 is out of range: it must be from 0 to 1"),
        (([1.1], 10.0, 250.0), "u = 1.1"),
        (([np.nan], 10.0, 250.0), "u = nan"),
        ((0.5, -1.0, 250.0), "min_distance_m = -1.0"),
        ((0.5, np.nan, 250.0), "min_distance_m = nan"),
        ((0.5, 10.0, 10.0), "radius_m = 10.0 .* above min_distance_m = 10"),
        ((0.5, 10.0, np.inf), "radius_m = inf"),
        ((0.5, 10.0, np.nan), "radius_m = nan"),
    ],
)
def test_annulus_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        geometry.annulus_distance_m(*arguments)


def test_distance_3d():
    np.testing.assert_allclose(geometry.distance_3d_m([0.0, 12.0, 30.0], 10.0, [5.0, 5.0, 50.0]), [5.0, 13.0, 50.0])
