import numpy as np
import pytest
from channel_validation import drops
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
        ((0.5, 10.0, 10.0), "radius_m = 10.0 .* above min_distance_m = 10"),
    ],
)
def test_annulus_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        geometry.annulus_distance_m(*arguments)


def test_distance_3d():
    np.testing.assert_allclose(geometry.distance_3d_m([0.0, 12.0, 30.0], 10.0, [5.0, 5.0, 50.0]), [5.0, 13.0, 50.0])


def distances_m(count, spacing_m=200.0):
    sites_m = geometry.hexagonal_sites_m(count, spacing_m)
    return np.linalg.norm(sites_m[:, None] - sites_m, axis=-1)


@pytest.mark.parametrize(("count", "rings"), [(1, [1]), (7, [1, 6]), (19, [1, 6, 12])])
def test_sites_come_ring_by_ring(count, rings):
    sites_m = geometry.hexagonal_sites_m(count, 200.0)
    assert sites_m.shape == (count, 2)
    np.testing.assert_array_equal(sites_m[0], 0.0)
    reach_m = np.linalg.norm(sites_m, axis=1)
    first = 0
    for ring, size in enumerate(rings):
        here_m = reach_m[first : first + size]
        assert (here_m > ring * 200.0 * np.sqrt(0.75) - 1e-9).all()  # a hexagon's inner radius, and its outer one
        assert (here_m < ring * 200.0 + 1e-9).all()
        angles = np.arctan2(*sites_m[first : first + size].T[::-1]) % (2 * np.pi)
        assert (np.diff(angles) > 0).all()
        first += size


def test_neighbours_are_one_spacing_away():
    apart_m = distances_m(19)
    np.fill_diagonal(apart_m, np.inf)
    np.testing.assert_allclose(apart_m.min(axis=1), 200.0, rtol=1e-12)
    neighbours = (np.abs(apart_m - 200.0) < 1e-6).sum(axis=1)
    np.testing.assert_array_equal(np.sort(neighbours), [3] * 6 + [4] * 6 + [6] * 7)  # corners, edges, the inner seven


@pytest.mark.parametrize("count", [7, 19])
def test_layout_is_symmetric_under_turns_of_60_degrees(count):
    sites_m = geometry.hexagonal_sites_m(count, 200.0)
    turn = np.array([[0.5, -np.sqrt(0.75)], [np.sqrt(0.75), 0.5]])
    apart_m = np.linalg.norm((sites_m @ turn.T)[:, None] - sites_m, axis=-1)
    np.testing.assert_allclose(apart_m.min(axis=1), 0.0, atol=1e-9)
    assert set(apart_m.argmin(axis=1)) == set(range(count))


def test_layouts_are_nested_and_scale():
    large_m = geometry.hexagonal_sites_m(19, 200.0)
    np.testing.assert_array_equal(geometry.hexagonal_sites_m(7, 200.0), large_m[:7])
    np.testing.assert_allclose(geometry.hexagonal_sites_m(19, 500.0), 2.5 * large_m, rtol=1e-14)


@pytest.mark.parametrize("reuse", [1, 3, 4, 7])
def test_cells_of_a_group_keep_the_reuse_distance(reuse):
    group = geometry.reuse_group(19, reuse)
    apart_m = distances_m(19)
    assert set(group) == set(range(reuse))
    assert group[0] == 0
    np.testing.assert_array_equal(geometry.reuse_group(7, reuse), group[:7])
    same = (group[:, None] == group) & (apart_m > 0)
    assert apart_m[same].min() == pytest.approx(200.0 * np.sqrt(reuse), rel=1e-12)
    for cells in np.bincount(group, minlength=reuse):
        assert cells >= 19 // reuse - 1
    nearest = np.abs(apart_m - 200.0 * np.sqrt(reuse)) < 1e-6  # all of them are of the same group
    if reuse in {1, 3, 4}:
        assert (same[nearest]).all()
    else:  # of the two mirrored lattices one is taken
        assert same[nearest].sum() == nearest.sum() / 2


def test_full_reuse_and_a_single_cell():
    np.testing.assert_array_equal(geometry.reuse_group(19, 1), 0)
    for reuse in (1, 3, 4, 7):
        np.testing.assert_array_equal(geometry.reuse_group(1, reuse), [0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: geometry.hexagonal_sites_m(2, 200.0), "count = 2: hexagonal layouts have 1, 7 or 19 sites"),
        (lambda: geometry.reuse_group(8, 1), "count = 8"),
        (lambda: geometry.reuse_group(7, 2), "reuse = 2: it must be 1, 3, 4 or 7"),
    ],
)
def test_hexagonal_layouts_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.oracle
def test_moments_of_drops():
    assert [check.name for check in drops.checks() if not check.ok] == []


def test_hexagons_refuse_wide_holes_and_single_draws():
    with pytest.raises(ValueError, match="radius_m"):
        geometry.hexagon_offsets_m([0.5, 0.5], 87.0, 100.0)  # the edges are at 86.6 m
    with pytest.raises(ValueError, match="two draws in its last axis"):
        geometry.hexagon_offsets_m([0.5, 0.5, 0.5], 10.0, 100.0)
    with pytest.raises(ValueError, match="out of range"):
        geometry.hexagon_offsets_m([0.5, 1.5], 10.0, 100.0)


@pytest.mark.parametrize("count", [1, 7, 19])
def test_copies_of_a_layout_tile_the_plane(count):
    """No two sites of the layout and its six copies coincide, and every neighbour of a site is among them."""
    sites = [tuple(site) for site in geometry.axial_sites(count).tolist()]
    copies = {(q + a, r + b) for q, r in sites for a, b in geometry.wrapping_shifts(count).tolist()}
    assert len(copies) == 6 * count
    assert copies.isdisjoint(sites)
    for q, r in sites:
        for a, b in ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)):
            assert (q + a, r + b) in copies.union(sites)
    for refused in (geometry.axial_sites, geometry.wrapping_shifts):
        with pytest.raises(ValueError, match="1, 7 or 19"):
            refused(4)
