"""The large-scale channel: what belongs to the device, to the path and to the site."""

import numpy as np
import pytest

from edgefl.core.streams import Streams
from edgefl.radio.large_scale import LargeScaleChannel
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
    # Without line of sight a floor of 3 m is worth 1.8 dB, and what it changes in the distance.
    floor = np.round(gain_db[blocked] / 1.8).max()
    assert floor == 7
    assert (gain_db[blocked] >= -0.6).all()
