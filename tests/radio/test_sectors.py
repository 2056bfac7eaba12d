"""Sectors: cells that have site and path in common, but not the antenna; gains and noise by direction."""

import numpy as np
import pytest
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, link

import edgefl
from channel import antenna
from edgefl.core.errors import InputError
from edgefl.core.plugins import WrongReturn
from edgefl.radio.backhaul import routes
from edgefl.radio.backhaul_section import Backhaul
from edgefl.scenario import load
from edgefl.world.antennas.omni import Omni

CLAMPED = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
SECTORS = {"layout": "hexagonal", "sites": 7, "radius_m": 120, "sectors": 3, "antenna": "tr38901"}
STILL = {"fading": "none", "shadowing_db": 0.0}


def scene(cells=SECTORS, count=400, **radio):
    of = link(cells=cells, **CLAMPED, **radio)
    rng = np.random.default_rng(1)
    positions = rng.uniform(-300, 300, (count, 2))
    heights = rng.uniform(1.5, 22.5, count)
    return of, positions, heights, of.drop(np.arange(count), positions, heights, 0)


@pytest.mark.parametrize("wrap_around", [False, True])
def test_gains_are_those_of_the_path_and_the_direction(wrap_around):
    """Against loops over sites and sectors, with angles from vectors."""
    keys = {**SECTORS, "wrap_around": wrap_around, "boresight_deg": 20.0}
    of, positions, heights, drop = scene(keys, count=40)
    _, _, _, plain = scene({**keys, "sectors": 1, "antenna": "omni"}, count=40)
    cells = of.channel.cells
    offsets = cells.offsets_m(positions)
    for device in range(40):
        for site in range(7):
            way = np.array([*offsets[device, site], heights[device] - 10.0])
            for sector in range(3):
                axis = np.radians(20.0 + 120.0 * sector)
                ahead = way[0] * np.cos(axis) + way[1] * np.sin(axis)
                left = way[1] * np.cos(axis) - way[0] * np.sin(axis)
                zenith = np.degrees(np.arccos(way[2] / np.linalg.norm(way)))
                gain_db = antenna.element_gain_dbi(zenith, np.degrees(np.arctan2(left, ahead)))
                gain_db += antenna.column_gain_db(zenith, 10, 0.5, 102.0)
                ratio_db = 10 * np.log10(drop.all_gains[device, 3 * site + sector] / plain.all_gains[device, site])
                assert ratio_db == pytest.approx(float(gain_db), abs=1e-6)


def test_path_and_shadowing_belong_to_the_site():
    _, positions, heights, drop = scene(shadowing_db=6.0)
    omni, _, _, _ = scene({**SECTORS, "sectors": 1, "antenna": "omni"}, shadowing_db=6.0)
    site = drop.cell // 3
    same = omni.drop(np.arange(400), positions, heights, 0, site)
    assert drop.all_gains.shape == (400, 21)
    assert set(drop.cell.tolist()) == set(range(21))
    assert drop.cell.tolist() == drop.all_gains.argmax(axis=1).tolist()
    for name in ("distance_m", "pathloss_db", "shadowing_db", "k_factor"):
        assert getattr(drop, name).tolist() == getattr(same, name).tolist()


def test_interference_of_the_other_sectors():
    """Two devices of one site: each receives the other's sector at its back, and no other site sends."""
    cells = {"layout": "single", "sectors": 2, "antenna": {"kind": "tr38901", "tilt_deg": 90}}
    of = link(cells=cells, **CLAMPED, **STILL, interference={"load": 1.0}, bandwidth_hz=1e6)
    east, west = np.array([[100.0, 0.0], [-100.0, 0.0]])
    drop = of.drop(np.arange(2), np.array([east, west]), np.full(2, 1.5), 0)
    assert drop.cell.tolist() == [0, 1]
    assert 10 * np.log10(drop.all_gains[0, 0] / drop.all_gains[0, 1]) == pytest.approx(30.0, abs=0.2)
    offer = of.pricing.shares("down", drop, np.full(2, DEVICE_W), 1e6)
    expected = SERVER_W * drop.path_gain / (NOISE_W_HZ * 1e6 + SERVER_W * drop.all_gains[[0, 1], [1, 0]])
    assert offer.mean_snr == pytest.approx(expected)
    assert offer.bandwidth_hz.tolist() == [1e6, 1e6]  # each has the band of its sector to itself


def test_reuse_divides_the_band_between_sites():
    of = link(cells={**SECTORS, "sites": 19}, **CLAMPED, reuse=3)
    group = of.pricing.budget.group
    assert len(group) == 57
    assert (group.reshape(19, 3) == group.reshape(19, 3)[:, :1]).all()
    assert set(group.tolist()) == {0, 1, 2}


def test_sectors_have_the_wires_of_their_site():
    star = Backhaul(kind="graph", links=[{"between": ("server", site), "delay_s": site + 1.0} for site in range(2)])
    assert routes(star, 2, 3).delay_s.tolist() == [1, 1, 1, 2, 2, 2]
    assert routes(None, 2, 3).one_way_s(1e6).tolist() == [0] * 6


def test_noise_figures_and_gains_by_direction():
    plain, _, _, drop = scene(**STILL)
    of, _, _, stronger = scene(**STILL, noise_figure_db={"base_station": 5, "device": 9}, device_antenna_gain_dbi=3.0)
    for way, noise_db in ("down", 9.0), ("up", 5.0):
        before = plain.pricing.shares(way, drop, np.full(400, DEVICE_W), 1e6).mean_snr
        after = of.pricing.shares(way, stronger, np.full(400, DEVICE_W), 1e6).mean_snr
        assert 10 * np.log10(after / before) == pytest.approx(np.full(400, 3.0 - noise_db))


def test_a_number_is_the_noise_figure_of_all():
    number = link(noise_figure_db=7.0).pricing.budget.noise_w_hz
    both = link(noise_figure_db={"base_station": 7, "device": 7}).pricing.budget.noise_w_hz
    assert number == both


def test_omni_with_a_gain_is_a_shift():
    cells = {**SECTORS, "sectors": 1, "antenna": "omni"}
    _, _, _, plain = scene(cells)
    _, _, _, raised = scene({**cells, "antenna": {"kind": "omni", "gain_dbi": 6.0}})
    assert 10 * np.log10(raised.all_gains / plain.all_gains) == pytest.approx(6.0)
    assert raised.cell.tolist() == plain.cell.tolist()


@pytest.mark.oracle
def test_a_device_turns_from_sector_to_sector():
    """Handover within one site: devices that walk around the base station change its sectors."""
    scenario = {
        "rounds": 1,
        "devices": {"count": 3},
        "data": {"dataset": "quadratic", "coefficients": [[0.5, 1.0, 0.0]] * 3},
        "model": {"kind": "quadratic"},
        "cells": {"sectors": 3, "antenna": "tr38901", "radius_m": 60, "handover": {}},
        "mobility": {"kind": "random_waypoint", "speed_mps": 30.0},
        "radio": {**CLAMPED, "spatial_consistency": True, "bandwidth_hz": 1.0, "sharing": "processor"},
    }
    result = edgefl.run(scenario, train=False)
    handovers = result.events[result.events.kind == "handover"]
    assert len(handovers) > 0
    assert set(handovers.cell) <= {0, 1, 2}
    assert set(result.devices.cell) <= {0, 1, 2}


@pytest.mark.oracle
def test_edge_models_belong_to_sites():
    """Hierarchical FL with sectors learns as without: an edge server is at a base station, whatever the sector."""
    scenario = {
        "rounds": 3,
        "devices": {"count": 12},
        "data": {"dataset": "synthetic"},
        "model": {"kind": "logistic"},
        "server": {"policy": {"kind": "hierarchical", "cloud_every": 2}},
        "cells": {**SECTORS, "antenna": {"kind": "tr38901", "elements": 1, "front_to_back_db": 0}},
        "radio": {**CLAMPED, **STILL},
    }
    sectors = edgefl.run(scenario)
    omni = edgefl.run({**scenario, "cells": {**SECTORS, "sectors": 1, "antenna": "omni"}})
    assert (sectors.devices.cell // 3).tolist() == omni.devices.cell.tolist()
    assert (sectors.parameters == omni.parameters).all()
    assert (sectors.rounds.backhaul_bytes == omni.rounds.backhaul_bytes).all()


BAD = {
    "four": ("{sectors: 4}", "cells.sectors: must be <= 3, got 4"),
    "omni": ("{sectors: 3}", "cells.sectors: 3 sectors need antennas that differ by direction: set cells.antenna to"),
}


@pytest.mark.parametrize(("cells", "message"), BAD.values(), ids=BAD)
def test_impossible_sectors(cells, message, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(f"rounds: 1\ncells: {cells}\n")
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:2: {message}")


ONE_VALUE = "one value is needed; a sweep file runs several, as grid: {radio.noise_figure_db: [...]}"


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ("[1]", f"radio.noise_figure_db: must be a number, or {{base_station: .., device: ..}}, got [1]: {ONE_VALUE}"),
        ("{phone: 1}", "radio.noise_figure_db.phone: unknown key; known: base_station, device"),
    ],
)
def test_impossible_noise_figures(figure, message, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(f"radio: {{noise_figure_db: {figure}}}\n")
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:1: {message}"


def test_geometry_by_hand():
    """All 21 sectors send 20 W over the band, with or without devices: against a loop over devices."""
    of, _, _, drop = scene(**STILL, noise_figure_db={"device": 9})
    sinr, sir = of.pricing.budget.full_load(drop.path_gain, drop.all_gains, drop.cell)
    noise_w = NOISE_W_HZ * 10**0.9 * of.radio.bandwidth_hz
    for device in range(20):
        received_w = SERVER_W * drop.all_gains[device]
        own_w = received_w[drop.cell[device]]
        others_w = received_w.sum() - own_w
        assert sir[device] == pytest.approx(own_w / others_w)
        assert sinr[device] == pytest.approx(own_w / (others_w + noise_w))


def test_geometry_under_reuse_has_fewer_interferers():
    of, _, _, drop = scene({**SECTORS, "sites": 7}, **STILL, reuse=7)
    _, sir = of.pricing.budget.full_load(drop.path_gain, drop.all_gains, drop.cell)
    site = drop.cell // 3
    own = drop.all_gains.reshape(400, 7, 3)[np.arange(400), site].sum(axis=1)
    assert sir == pytest.approx(drop.path_gain / (own - drop.path_gain))  # only the other sectors of the site


PRICED = {
    "rounds": 2,
    "devices": {"count": 8},
    "data": {"dataset": "synthetic"},
    "model": {"kind": "logistic"},
    "report": {"geometry": True},
}


def test_columns_of_geometry():
    cells = {**SECTORS, "sectors": 1, "antenna": {"kind": "omni", "gain_dbi": 5}}
    omni = edgefl.run({**PRICED, "cells": cells, "radio": CLAMPED}, train=False).devices
    assert omni.coupling_loss_db.to_numpy() == pytest.approx((omni.pathloss_db + omni.shadowing_db).to_numpy() - 5.0)
    assert (omni.geometry_db < omni.sir_db).all()
    alone = edgefl.run(PRICED, train=False).devices
    assert alone.sir_db.isna().all()
    # 43 dBm over 100 MHz and noise of -174 dBm/Hz, without interference.
    snr_db = 43 - alone.coupling_loss_db - (-174 + 80)
    assert alone.geometry_db.to_numpy() == pytest.approx(snr_db.to_numpy())
    assert "sir_db" not in edgefl.run({**PRICED, "report": {}}, train=False).devices


class Upward(Omni):
    """A class of one's own, derived from the shipped one: 10 dBi above the horizon, 0 dBi below."""

    def pattern_dbi(self, zenith_deg, azimuth_deg):
        return np.where(zenith_deg < 90.0, 10.0, 0.0) + 0.0 * azimuth_deg


class TooFew(Omni):
    """Forgets the sectors."""

    def pattern_dbi(self, zenith_deg, azimuth_deg):
        return np.zeros(3)


def test_a_pattern_from_outside_counts_and_is_checked():
    cells = {**SECTORS, "sectors": 1}
    _, _, heights, plain = scene({**cells, "antenna": "omni"})
    _, _, _, own = scene({**cells, "antenna": Upward()})
    expected_db = np.where(heights > 10.0, 10.0, 0.0)[:, None]
    assert 10 * np.log10(own.all_gains / plain.all_gains) == pytest.approx(np.broadcast_to(expected_db, (400, 7)))
    with pytest.raises(WrongReturn, match=r"TooFew.pattern_dbi returned an array of shape"):
        scene({**cells, "antenna": TooFew()})
