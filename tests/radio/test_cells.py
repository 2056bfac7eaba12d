"""Several cells: serving base stations, shares and interference."""

import math

import numpy as np
import pytest
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, SLOT_S, link, transfers

import edgefl

CLAMPED = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
HEXAGONAL = {"layout": "hexagonal"}


def scattered(cells, count=300, seed=0):
    """Positions over the whole layout."""
    rng = np.random.default_rng(seed)
    reach = cells.coverage_m * np.sqrt(rng.random(count))
    angle = rng.uniform(0, 2 * np.pi, count)
    return np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=-1)


def scene(count=300, cells=HEXAGONAL, **radio):
    of = link(cells=cells, **CLAMPED, **radio)
    positions = scattered(of.channel.cells, count)
    return of, positions, of.drop(np.arange(count), positions, np.full(count, 1.5), 0)


def loss_db(distance_m):
    """UMi in line of sight at 3.5 GHz, heights 10 m and 1.5 m, held at 10 m (TR 38.901, Table 7.4.1-1)."""
    d = np.maximum(distance_m, 10.0)
    d3 = np.hypot(d, 8.5)
    bend = 4 * 9 * 0.5 * 3.5e9 / 3e8
    near = 32.4 + 21 * np.log10(d3) + 20 * np.log10(3.5)
    far = 32.4 + 40 * np.log10(d3) + 20 * np.log10(3.5) - 9.5 * np.log10(bend**2 + 8.5**2)
    return np.where(d <= bend, near, far)


@pytest.mark.parametrize("sites", [7, 19])
@pytest.mark.parametrize("shadowing_db", [0.0, 8.0])
def test_the_strongest_base_station_serves(sites, shadowing_db):
    of, positions, drop = scene(cells={**HEXAGONAL, "sites": sites}, shadowing_db=shadowing_db)
    spacing = math.sqrt(3) * 250
    ring = [(spacing * math.cos(a), spacing * math.sin(a)) for a in np.arange(6) * math.pi / 3]
    assert np.allclose(of.channel.cells.sites_m[0], 0)
    assert {tuple(site) for site in of.channel.cells.sites_m[1:7].round(6)} == {
        (round(x, 6) + 0.0, round(y, 6) + 0.0) for x, y in ring
    }
    distance = np.linalg.norm(positions[:, None] - of.channel.cells.sites_m, axis=-1)
    normals = of.streams.normal("shadowing", np.arange(300), 0, count=sites)
    gain_db = -(loss_db(distance) + shadowing_db * normals)
    assert drop.cell.tolist() == gain_db.argmax(axis=1).tolist()
    assert 10 * np.log10(drop.all_gains) == pytest.approx(gain_db)
    assert 10 * np.log10(drop.path_gain) == pytest.approx(gain_db.max(axis=1))
    assert drop.distance_m == pytest.approx(distance[np.arange(300), drop.cell])
    assert len(set(drop.cell)) == sites
    nearest = (drop.cell == distance.argmin(axis=1)).mean()
    assert nearest == 1.0 if shadowing_db == 0 else nearest < 0.95


def test_named_base_station_serves():
    """As after a handover; the gains to all cells stay."""
    of, positions, drop = scene(20, shadowing_db=6.0, fading="ricean", spatial_consistency=True)
    named = (drop.cell + 1) % 7
    other = of.channel.drop(np.arange(20), positions, np.full(20, 1.5), 0, named)
    assert other.cell.tolist() == named.tolist()
    assert other.all_gains.tolist() == drop.all_gains.tolist()
    assert other.path_gain.tolist() == drop.all_gains[np.arange(20), named].tolist()
    sites = of.channel.cells.sites_m[named]
    assert other.distance_m == pytest.approx(np.linalg.norm(positions - sites, axis=1))
    again = other.pathloss_db + other.shadowing_db
    assert 10 ** (-again / 10) == pytest.approx(other.path_gain)
    assert (other.k_factor != drop.k_factor).all()


def test_every_cell_divides_its_own_band():
    of, _, drop = scene(60)
    who = of.participants(drop, np.full(60, 10.0), np.full(60, DEVICE_W), 0)
    offer = of.pricing.offer("up", who, 1e6)
    in_my_cell = np.bincount(drop.cell)[drop.cell]
    assert offer.bandwidth_hz == pytest.approx(100e6 / in_my_cell)


@pytest.mark.parametrize("power", ["per_device", "total"])
@pytest.mark.parametrize("reuse", [1, 3, 7])
@pytest.mark.parametrize("load", [None, 0.0, 0.3, 1.0])
def test_interference_and_reuse_set_the_durations(power, reuse, load):
    """Without fading, from the formulas: SINR = P psi / ((N0 + I0) W), I0 from the other cells of the group."""
    keys = {"fading": "none", "server_power": power, "reuse": reuse, "shadowing_db": 6.0}
    of, _, drop = scene(40, **keys, interference=None if load is None else {"load": load})
    found = {"down": [], "up": []}
    who = of.participants(drop, np.full(40, 10.0), np.full(40, DEVICE_W), 0)
    for way in found:
        offer = of.pricing.offer(way, who, 1e6)
        found[way] = of.pricing.price(offer, who, np.arange(40)).slots
    band = 100e6 / reuse
    count = np.bincount(drop.cell, minlength=7)
    group = {1: [0] * 7, 3: [0, 1, 2, 1, 2, 1, 2], 7: range(7)}[reuse]  # any neighbours of the ring differ
    for n in range(40):
        mine = drop.cell[n]
        others = [c for c in range(7) if c != mine and group[c] == group[mine]]
        down = sum(SERVER_W * drop.all_gains[n, c] * (count[c] if power == "per_device" else min(count[c], 1))
                   for c in others) * (load or 0.0) / band  # fmt: skip
        up = sum(DEVICE_W * drop.all_gains[m, mine] for m in range(40) if drop.cell[m] in others)
        up *= (load or 0.0) / band
        share = band / count[mine]
        occupied = band if power == "total" else share
        for way, watts, density, hz in (("down", SERVER_W, down, occupied), ("up", DEVICE_W, up, share)):
            snr = watts * drop.path_gain[n] / ((NOISE_W_HZ + density) * hz)
            assert found[way][n] == math.ceil(1e6 / (share * SLOT_S * math.log2(1 + snr)))
    assert of.pricing.budget.group.tolist()[0] == 0


def test_reuse_keeps_neighbours_apart():
    of = link(cells={**HEXAGONAL, "sites": 19}, **CLAMPED, reuse=3)
    distance = np.linalg.norm(of.channel.cells.sites_m[:, None] - of.channel.cells.sites_m, axis=-1)
    neighbours = (distance > 1) & (distance < 1.1 * of.channel.cells.spacing_m)
    assert not (neighbours & (of.pricing.budget.group[:, None] == of.pricing.budget.group)).any()


def test_whole_blocks_are_divided_among_the_reuse_groups():
    """273 blocks of 360 kHz in three parts: 91 a cell."""
    of = link(cells=HEXAGONAL, **CLAMPED, reuse=3, subcarrier_spacing_hz=30e3)
    assert of.pricing.budget.resources.band_hz == pytest.approx(91 * 360e3)


def test_more_load_is_never_faster():
    times = []
    for interference in (None, {"load": 0.1}, {"load": 1.0}):
        radio = {**CLAMPED, "interference": interference, "bandwidth_hz": 10e6}
        base = {"rounds": 4, "devices": {"count": 60}, "server": {"participants": 30}, "cells": HEXAGONAL}
        times.append(edgefl.run({**base, "radio": radio}, train=False).rounds["duration_s"].sum())
    assert times[0] < times[1] < times[2]


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_the_cell_column_of_a_run(sharing):
    """The strongest by the columns of devices.csv; over rounds a moving device changes its cell."""
    scenario = {
        "rounds": 30,
        "devices": {"count": 60},
        "server": {"participants": 30},
        "cells": HEXAGONAL,
        "mobility": {"kind": "random_waypoint", "speed_mps": 30},
        "radio": {**CLAMPED, "shadowing_db": 0.0, "sharing": sharing, "interference": {}, "slot_s": 0.001},
        "model": {"kind": "mlp", "cost": {"parameters": 1000, "flops_per_parameter": 1e6}},
    }
    result = edgefl.run(scenario, train=False)
    devices = result.devices
    sites = link(cells=HEXAGONAL, **CLAMPED).channel.cells.sites_m
    distance = np.linalg.norm(devices[["x_m", "y_m"]].to_numpy()[:, None] - sites, axis=-1)
    assert devices["cell"].tolist() == distance.argmin(axis=1).tolist()
    assert devices["distance_m"].to_numpy() == pytest.approx(distance.min(axis=1))
    assert set(devices["cell"]) == set(range(7))
    assert devices.groupby("device")["cell"].nunique().max() > 1
    assert result.rounds["received"].tolist() == [30] * 30


def test_cell_without_interference_equals_a_single_cell():
    """Devices near the middle, reuse 1, no interference: the other base stations leave no trace."""
    keys = {**CLAMPED, "shadowing_db": 0.0}
    ids = np.array([1, 5])
    alone = transfers(link(**keys), ids, 1e6, distance_m=50.0)
    among = transfers(link(cells=HEXAGONAL, **keys), ids, 1e6, distance_m=50.0)
    for one, other in zip(alone, among, strict=True):
        assert np.array_equal(one.duration_s, other.duration_s)
