"""Interpolation on a grid, against closed forms."""

import numpy as np
import pytest

from channel import free_space, gain_map

X_M = np.array([-20.0, -5.0, 0.0, 12.5, 40.0])
Y_M = np.array([-10.0, 0.1, 7.0, 30.0])
INSIDE_M = np.random.default_rng(5).uniform([-20, -10], [40, 30], (500, 2))


def test_affine_values_are_exact_everywhere():
    def plane(x, y):
        return -70.0 - 0.3 * x + 0.25 * y

    found = gain_map.bilinear(X_M, Y_M, plane(X_M, Y_M[:, None]), INSIDE_M)
    np.testing.assert_allclose(found, plane(*INSIDE_M.T), rtol=0, atol=1e-12)


def test_values_are_exact_to_the_bit_on_grid_points_whatever_their_neighbours():
    values = np.random.default_rng(1).uniform(-120, -60, (2, len(Y_M), len(X_M)))
    points = np.stack(np.meshgrid(X_M, Y_M), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(gain_map.bilinear(X_M, Y_M, values, points), values.reshape(2, -1))
    values[:, 1, 2] = np.nan
    known = np.arange(len(points)) != 1 * len(X_M) + 2
    found = gain_map.bilinear(X_M, Y_M, values, points[known])
    np.testing.assert_array_equal(found, values.reshape(2, -1)[:, known])


def test_errors_fall_with_the_square_of_the_step():
    """Bilinear interpolation of a smooth function has an error of second order."""

    def worst_db(step_m):
        x = np.arange(50.0, 150.0 + step_m, step_m)
        grid = -free_space.path_loss_db(np.hypot(x, x[:, None]), 3.5e9)
        points = np.random.default_rng(3).uniform(60, 140, (2000, 2))
        exact = -free_space.path_loss_db(np.hypot(*points.T), 3.5e9)
        return np.abs(gain_map.bilinear(x, x, grid, points) - exact).max()

    assert worst_db(10.0) / worst_db(5.0) == pytest.approx(4.0, rel=0.15)
    assert worst_db(5.0) < 0.02


def test_line_of_sight_is_that_of_the_nearest_point():
    los = np.random.default_rng(2).random((len(Y_M), len(X_M))) < 0.5
    found = gain_map.nearest(X_M, Y_M, los, INSIDE_M)
    column = np.abs(INSIDE_M[:, :1] - X_M).argmin(axis=1)
    row = np.abs(INSIDE_M[:, 1:] - Y_M).argmin(axis=1)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, los[row, column])


def test_held_out_errors_are_those_of_the_coarser_map():
    x = np.arange(0.0, 90.0, 10.0)
    plane = -70.0 - 0.3 * x + 0.25 * x[:, None]
    bump = plane.copy()
    bump[3, 3] += 8.0  # of an odd row and column, which the coarser map leaves out
    errors = gain_map.held_out_errors_db(x, x, np.stack([plane, bump]))
    assert len(errors) == 2 * (81 - 25)
    assert np.sort(np.abs(errors))[-2:] == pytest.approx([0.0, 8.0], abs=1e-12)
    bump[0, 0] = np.nan  # of the coarser map: the points beside it do not count
    assert len(gain_map.held_out_errors_db(x, x, bump)) == 81 - 25 - 3


@pytest.mark.parametrize(
    ("point", "said"),
    [
        (
            [41.0, 0.0],
            r"position_m = \(41, 0\) is outside the map, which spans x from -20 to 40 m and y from -10 to 30",
        ),
        ([0.0, -10.001], r"position_m = \(0, -10.001\) is outside"),
        ([np.nan, 0.0], r"is outside"),
        ([-1.0, 1.0], r"position_m = \(-1, 1\) is beside a point of the map without a value"),
    ],
)
def test_positions_without_a_value_are_named(point, said):
    values = np.zeros((len(Y_M), len(X_M)))
    values[1, 2] = np.nan
    with pytest.raises(ValueError, match=said):
        gain_map.bilinear(X_M, Y_M, values, [[0.0, 20.0], point])
    shown = gain_map.bilinear(X_M, Y_M, values, [[0.0, 20.0], point], nan_outside=True)
    assert np.isnan(shown).tolist() == [False, True]


def test_a_map_of_two_rows_leaves_no_points_out():
    assert not len(gain_map.held_out_errors_db([0.0, 1.0], [0.0, 1.0], np.zeros((2, 2))))


def test_wrong_grids_are_refused():
    for wrong in ([0.0], [0.0, 0.0], [1.0, 0.0], [0.0, np.nan]):
        with pytest.raises(ValueError, match="x_m"):
            gain_map.axis("x_m", wrong)
    with pytest.raises(ValueError, match="must have 4 rows and 5 columns"):
        gain_map.bilinear(X_M, Y_M, np.zeros((5, 4)), [[0.0, 0.0]])
