"""The large-scale channel: quantities of the device, of the path and of the site."""

import itertools

import numpy as np
import pytest

from edgefl.core.streams import Streams
from edgefl.radio.gains.large_scale import LargeScaleChannel
from edgefl.radio.radio_section import Radio
from edgefl.world.cells_section import Cells

COUNT = 400
SEVEN = {"layout": "hexagonal"}


def channel_of(propagation, cells=None, **radio):
    section = Radio.model_validate({"propagation": propagation, **radio})
    return LargeScaleChannel(section, Cells.model_validate(cells or {}), Streams(3))


def dropped(channel, index=0):
    ids = np.arange(COUNT)
    angle = np.linspace(0.0, 6.0, COUNT)
    positions_m = 120.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return channel.drop(ids, positions_m, np.full(COUNT, 1.5), index)


@pytest.mark.parametrize("kind", ["umi", "uma", "rma"])
@pytest.mark.parametrize("consistent", [False, True])
def test_devices_in_buildings_have_no_k(kind, consistent):
    """TR 38.901 Table 7.5-6 has a K for line of sight alone; the column O2I has none."""
    height = {"umi": 10.0, "uma": 25.0, "rma": 35.0}[kind]
    keys = {"fading": "ricean", "spatial_consistency": consistent}
    indoors = dropped(channel_of({"kind": kind, "indoor": 1.0}, {"bs_height_m": height}, **keys))
    assert indoors.los.sum() > 0  # the paths outdoors
    np.testing.assert_array_equal(indoors.k_factor, 0.0)
    assert indoors.indoor.all()
    outdoors = dropped(channel_of({"kind": kind}, {"bs_height_m": height}, **keys))
    np.testing.assert_array_equal(outdoors.k_factor > 0, outdoors.los)


def test_below_6_ghz_the_depth_belongs_to_the_path():
    """Table 7.4.3-3: d_2D-in is link-specific; with walls of materials it is the device's."""
    ids = np.arange(COUNT)
    at = (ids, np.zeros((COUNT, 2)), np.full(COUNT, 1.5), 0)
    # Sites 1 and 4 are as far from the middle as each other: without line of sight, losses differ by the depth alone.
    cells = SEVEN | {"bs_height_m": 10.0}
    for walls, alike in (("materials", True), ("by_frequency", False)):
        propagation = {"kind": "umi", "indoor": 1.0, "walls": walls, "out_of_range": "clamp"}
        large = channel_of(propagation, cells).paths(*at).large
        blocked = ~large.los[:, 1] & ~large.los[:, 4]
        gap_db = np.abs(large.path_loss_db[blocked, 1] - large.path_loss_db[blocked, 4])
        assert blocked.sum() > 100
        assert np.allclose(gap_db, 0.0, atol=1e-9) == alike


def test_floors_count_for_every_path():
    propagation = {"kind": "uma", "indoor": 1.0, "floors": [8, 8], "out_of_range": "clamp"}
    cells = SEVEN | {"bs_height_m": 25.0}
    ground = channel_of(propagation | {"floors": [1, 1]}, cells)
    high = channel_of(propagation, cells)
    ids = np.arange(COUNT)
    at = (ids, np.full((COUNT, 2), 60.0), np.full(COUNT, 20.0), 0)
    gain_db = ground.paths(*at).large.path_loss_db - high.paths(*at).large.path_loss_db
    blocked = ~ground.paths(*at).large.los & ~high.paths(*at).large.los
    # Without line of sight a floor of 3 m is worth 1.8 dB, plus its change of the distance.
    floor = np.round(gain_db[blocked] / 1.8).max()
    assert floor == 7
    assert (gain_db[blocked] >= -0.6).all()


MANY = 4_000
LOS_EVERYWHERE = {"kind": "umi_los", "out_of_range": "clamp"}


def shadowing_db(channel, positions_m, index=0):
    return channel.paths(np.arange(len(positions_m)), positions_m, np.full(len(positions_m), 1.5), index).shadowing_db


@pytest.mark.oracle
@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("consistent", [False, True])
def test_shadowing_to_different_base_stations_is_correlated(correlation, consistent):
    """Each path keeps its 4 dB; pairs of paths have the correlation that the scenario names."""
    channel = channel_of(LOS_EVERYWHERE, SEVEN, site_correlation=correlation, spatial_consistency=consistent)
    # Far apart, so that devices are independent on maps, too.
    positions_m = np.random.default_rng(1).uniform(-2e4, 2e4, (MANY, 2))
    drawn_db = shadowing_db(channel, positions_m)
    assert drawn_db.std(axis=0) == pytest.approx(np.full(7, 4.0), rel=0.06)
    between = np.corrcoef(drawn_db.T)[np.triu_indices(7, k=1)]
    assert between == pytest.approx(np.full(21, correlation), abs=0.06)
    again_db = shadowing_db(channel, positions_m, index=1)
    repeated = np.corrcoef(drawn_db[:, 0], again_db[:, 0])[0, 1]
    assert repeated == pytest.approx(1.0 if consistent else 0.0, abs=0.06)


@pytest.mark.oracle
def test_correlated_maps_keep_their_decorrelation_distance():
    """TR 38.901, eq. 7.4-5: 1 / e after 10 m."""
    channel = channel_of(LOS_EVERYWHERE, SEVEN, site_correlation=0.5, spatial_consistency=True)
    positions_m = np.random.default_rng(2).uniform(-2e4, 2e4, (MANY, 2))
    here_db = shadowing_db(channel, positions_m + np.array([0.0, 0.0]))
    there_db = shadowing_db(channel, positions_m + np.array([10.0, 0.0]))
    for site in range(7):
        assert np.corrcoef(here_db[:, site], there_db[:, site])[0, 1] == pytest.approx(np.exp(-1), abs=0.08)


@pytest.mark.oracle
def test_paths_in_different_states_are_correlated_as_well():
    propagation = {"kind": "umi", "out_of_range": "clamp"}
    channel = channel_of(propagation, SEVEN, site_correlation=0.5, spatial_consistency=True)
    ids = np.arange(MANY)
    positions_m = np.random.default_rng(3).uniform(-400.0, 400.0, (MANY, 2))
    paths = channel.paths(ids, positions_m, np.full(MANY, 1.5), 0)
    normals = paths.shadowing_db / paths.large.shadowing_std_db
    los = paths.large.los
    products = []
    for one, other in itertools.permutations(range(7), 2):
        rows = los[:, one] & ~los[:, other]
        products.append(normals[rows, one] * normals[rows, other])
    assert np.concatenate(products).mean() == pytest.approx(0.5, abs=0.1)


def test_zero_site_correlation_keeps_the_draws():
    plain = channel_of(LOS_EVERYWHERE, SEVEN)
    positions_m = np.zeros((50, 2))
    named = channel_of(LOS_EVERYWHERE, SEVEN, site_correlation=0.0)
    np.testing.assert_array_equal(shadowing_db(plain, positions_m), shadowing_db(named, positions_m))
