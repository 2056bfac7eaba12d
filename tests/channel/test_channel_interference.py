import numpy as np
import pytest

from channel import geometry, interference, rate


def drop(n=40, cells=7, seed=0):
    """Gains of n terminals to all cells, and the serving cell of each."""
    rng = np.random.default_rng(seed)
    gain = 10 ** rng.uniform(-14, -7, (n, cells))
    return gain, gain.argmax(axis=1), rng


def test_two_cells_by_hand():
    gain = [[1e-8, 1e-10], [4e-10, 1e-8], [2e-9, 5e-10]]
    cell = [0, 1, 0]
    full_reuse = [0, 0]
    np.testing.assert_allclose(
        interference.downlink_w_hz(gain, cell, full_reuse, [20.0, 10.0], 1e8),
        [10.0 * 1e-10 / 1e8, 20.0 * 4e-10 / 1e8, 10.0 * 5e-10 / 1e8],
        rtol=1e-14,
    )
    np.testing.assert_allclose(
        interference.uplink_w_hz(gain, cell, full_reuse, [0.2, 0.1, 0.4], 1e8),
        [0.1 * 4e-10 / 1e8, (0.2 * 1e-10 + 0.4 * 5e-10) / 1e8],
        rtol=1e-14,
    )


def test_three_cells_two_of_which_share_a_band():
    gain = [[1e-8, 2e-9, 3e-9], [1e-9, 1e-8, 5e-9], [6e-10, 7e-10, 1e-8]]
    cell = [0, 1, 2]
    group = [0, 1, 0]
    np.testing.assert_allclose(
        interference.downlink_w_hz(gain, cell, group, [1.0, 2.0, 4.0], 1e7), np.array([12e-9, 0.0, 6e-10]) / 1e7
    )
    np.testing.assert_allclose(
        interference.uplink_w_hz(gain, cell, group, [1.0, 2.0, 4.0], 1e7), np.array([4 * 6e-10, 0.0, 3e-9]) / 1e7
    )


@pytest.mark.parametrize("reuse", [1, 3, 4, 7])
@pytest.mark.parametrize("cells", [1, 7, 19])
def test_against_loops(cells, reuse):
    gain, cell, rng = drop(cells=cells)
    group = geometry.reuse_group(cells, reuse)
    server_w = rng.uniform(0, 20, cells)
    power_w = rng.uniform(0, 0.2, len(cell))
    down = np.zeros(len(cell))
    up = np.zeros(cells)
    for k, own in enumerate(cell):
        for site in range(cells):
            if site != own and group[site] == group[own]:
                down[k] += server_w[site] * gain[k, site] / 1e8
                up[site] += power_w[k] * gain[k, site] / 1e8
    np.testing.assert_allclose(interference.downlink_w_hz(gain, cell, group, server_w, 1e8), down, rtol=1e-12)
    np.testing.assert_allclose(interference.uplink_w_hz(gain, cell, group, power_w, 1e8), up, rtol=1e-12)


@pytest.mark.parametrize("group", [np.arange(7), np.zeros(1, int)], ids=["own bands", "one cell"])
def test_nothing_comes_from_other_bands_or_no_cells(group):
    gain, cell, _ = drop(cells=len(group))
    np.testing.assert_array_equal(interference.downlink_w_hz(gain, cell, group, np.ones(len(group)), 1e8), 0.0)
    np.testing.assert_array_equal(interference.uplink_w_hz(gain, cell, group, np.ones(len(cell)), 1e8), 0.0)


def test_received_power_equals_sent_power_times_gain():
    # one terminal a cell, at powers of its base station and with gains that are the same both ways: transposed matrices
    gain = drop(n=7)[0]
    gain = (gain + gain.T) / 2
    cell = np.arange(7)
    power_w = np.arange(1.0, 8.0)
    group = np.zeros(7, int)
    np.testing.assert_allclose(
        interference.downlink_w_hz(gain, cell, group, power_w, 1e8),
        interference.uplink_w_hz(gain, cell, group, power_w, 1e8),
        rtol=1e-12,
    )


def test_reuse_lowers_interference_and_raises_the_sinr():
    # at the edge of the middle cell of 19: distances to co-channel sites grow with the reuse factor
    sites_m = geometry.hexagonal_sites_m(19, 500.0)
    spot_m = np.array([250.0, 0.0])
    gain = np.linalg.norm(sites_m - spot_m, axis=1)[None] ** -3.5
    sinr = []
    for reuse in (1, 3, 4, 7):
        band_hz = 1e8 / reuse
        group = geometry.reuse_group(19, reuse)
        level_w_hz = interference.downlink_w_hz(gain, [0], group, np.full(19, 20.0), band_hz)
        sinr.append(rate.mean_snr(20.0, gain[0, 0], 1e-30 + level_w_hz, band_hz)[0])
    assert np.diff(sinr).min() > 0
    assert sinr[0] < 1  # two base stations at the same distance, and more behind


@pytest.mark.parametrize("density", [interference.downlink_w_hz, interference.uplink_w_hz])
@pytest.mark.parametrize(
    ("place", "name", "bad"),
    [
        (0, "path_gain", [[1.0, -1.0], [1.0, 1.0]]),
        (1, "cell", [0, 2]),
        (4, "band_hz", 0.0),
    ],
)
def test_out_of_range(density, place, name, bad):
    arguments = [[[1.0, 1.0], [1.0, 1.0]], [0, 1], [0, 0], [1.0, 1.0], 1e8]
    arguments[place] = bad
    with pytest.raises(ValueError, match=rf"{name} = .* is out of range"):
        density(*arguments)
