"""Runs over maps of path gains: closed forms on a grid, places outside, base stations, and what maps exclude."""

import numpy as np
import pytest

import edgefl
from channel import free_space
from edgefl.core.errors import InputError
from edgefl.radio.gain_maps.gain_map import GainMap, map_bytes, read_map

CARRIER_HZ = 3.5e9
AXIS_M = np.arange(-300.0, 301.0, 2.0)
TWO_SITES_M = [[-60.0, 0.0], [60.0, 10.0]]


def free_space_map(sites_m=((0.0, 0.0),), axis_m=AXIS_M, **more):
    """Return the map of free space between antennas at 10 m and 1.5 m."""
    x, y = np.meshgrid(axis_m, axis_m)
    far_m = [np.sqrt((x - site[0]) ** 2 + (y - site[1]) ** 2 + 8.5**2) for site in sites_m]
    gains = np.array([-free_space.path_loss_db(distance_m, CARRIER_HZ) for distance_m in far_m])
    return GainMap(axis_m, axis_m, gains, sites_m=np.array(sites_m), carrier_hz=CARRIER_HZ, **more)


def written(folder, made):
    path = folder / "cell.npz"
    path.write_bytes(map_bytes(made))
    return str(path)


def world(file, **sections):
    return {
        "rounds": 3,
        "devices": {"count": 12, "height_m": 1.5},
        "server": {"participants": 6},
        "radio": {"propagation": {"kind": "map", "file": file}, "fading": "none"},
        **sections,
    }


def at_points(tmp_path, points):
    """Return the mobility of devices that stand at points."""
    rows = "".join(f"{time_s},{device},{x},{y}\n" for device, (x, y) in enumerate(points) for time_s in (0, 1000))
    (tmp_path / "places.csv").write_text("time_s,device,x_m,y_m\n" + rows)
    return {"kind": "trace", "path": str(tmp_path / "places.csv"), "coordinates": "metres"}


def test_devices_on_grid_points_meet_the_closed_form_in_a_whole_run(tmp_path):
    """A map that was sampled from free space gives the times and energies of free space, at its grid points."""
    points = [(-60, 2), (14, 80), (100, -6), (-32, -32), (0, 200), (22, 0)]
    mobility = at_points(tmp_path, points)
    keys = {"devices": {"count": 6, "height_m": 1.5}, "mobility": mobility, "server": {"participants": 3}}
    mapped = edgefl.run(world(written(tmp_path, free_space_map()), **keys), train=False).devices
    exact = edgefl.run(world("", **keys) | {"radio": {"propagation": "free_space", "fading": "none"}}, train=False)
    assert set(mapped["device"]) > {0, 1}
    # Files have 32 bits.
    np.testing.assert_allclose(mapped["pathloss_db"], exact.devices["pathloss_db"], rtol=0, atol=1e-5)
    for column in ("distance_m", "upload_s", "download_s", "tx_energy_j"):
        np.testing.assert_allclose(mapped[column], exact.devices[column], rtol=1e-5)


def test_moving_devices_follow_the_map(tmp_path):
    file = written(tmp_path, free_space_map())
    keys = {"mobility": {"kind": "random_waypoint", "speed_mps": 30}}
    devices = edgefl.run(world(file, **keys), train=False).devices
    exact_db = free_space.path_loss_db(np.hypot(devices["distance_m"], 8.5), CARRIER_HZ)
    np.testing.assert_allclose(devices["pathloss_db"], exact_db, rtol=0, atol=0.06)
    assert (devices["shadowing_db"] == 0).all()


def test_line_of_sight_is_that_of_the_map(tmp_path):
    east = np.broadcast_to(AXIS_M > 0, (1, len(AXIS_M), len(AXIS_M)))
    file = written(tmp_path, free_space_map(los=east))
    points = [(-61, 3), (41, 80), (99, -6), (-33, -32)]
    keys = {"devices": {"count": 4}, "mobility": at_points(tmp_path, points), "server": {"participants": 4}}
    devices = edgefl.run(world(file, **keys), train=False).devices
    assert devices.groupby("device")["los"].first().astype(int).tolist() == [0, 1, 1, 0]


@pytest.mark.oracle
def test_each_base_station_has_its_own_gains_in_handover_and_interference(tmp_path):
    file = written(tmp_path, free_space_map(TWO_SITES_M))
    cells = {"layout": "listed", "positions_m": TWO_SITES_M, "radius_m": 150, "handover": {}}
    radio = {"fading": "none", "sharing": "processor", "interference": {"load": 0.5}, "bandwidth_hz": 1e6}
    keys = {"cells": cells, "mobility": {"kind": "random_waypoint", "speed_mps": 30}}
    runs = [
        edgefl.run(world(file, **keys) | {"radio": {**radio, "propagation": propagation, **more}}, train=False)
        for propagation, more in (
            ({"kind": "map", "file": file}, {}),
            ("free_space", {"spatial_consistency": True}),
        )
    ]
    mapped, exact = (run.devices for run in runs)
    assert mapped["cell"].nunique() == 2
    np.testing.assert_array_equal(mapped["cell"], exact["cell"])
    np.testing.assert_allclose(mapped["upload_s"], exact["upload_s"], rtol=0.02)


def test_a_trace_that_leaves_the_map_ends_the_run_with_its_position(tmp_path):
    file = written(tmp_path, free_space_map(axis_m=np.arange(-100.0, 101.0, 2.0)))
    mobility = at_points(tmp_path, [(0, 20), (130.5, 20)])
    keys = {"devices": {"count": 2}, "mobility": mobility, "server": {"participants": 2}}
    ended = edgefl.run(world(file, **keys), train=False)
    assert ended.status == "failed"
    said = "round 1: position_m = (130.5, 20) is outside the map, which spans x from -100 to 100 m"
    assert ended.manifest["error"].startswith(said)
    clamped = world(file, **keys)
    clamped["radio"]["propagation"]["out_of_range"] = "clamp"
    devices = edgefl.run(clamped, train=False).devices
    border_db = free_space.path_loss_db(np.sqrt(100**2 + 20**2 + 8.5**2), CARRIER_HZ)
    assert devices[devices["device"] == 1]["pathloss_db"].iloc[0] == pytest.approx(border_db, abs=1e-4)


def test_shadowing_may_be_added_as_the_error_of_the_map(tmp_path):
    scenario = world(written(tmp_path, free_space_map()))
    scenario["radio"]["shadowing_db"] = 3.0
    devices = edgefl.run(scenario, train=False).devices
    assert 1.0 < devices["shadowing_db"].std() < 6.0


GAP = free_space_map()
GAP.path_gain_db[0, 160, 150] = np.nan


@pytest.mark.parametrize(
    ("made", "keys", "said"),
    [
        (
            free_space_map(),
            {"cells": {"radius_m": 400}},
            "spans x from -300 to 300 m .* devices are up to 400 m.*300 m",
        ),
        (
            free_space_map(),
            {"cells": {"layout": "hexagonal", "wrap_around": True}},
            "one gain for each place, not one for each image",
        ),
        (
            free_space_map([(40.0, 0.0)]),
            {},
            r"base station 0 of the map is at \(40, 0\), that of the scenario at \(0, 0\): set .*\[\[40, 0\]\]",
        ),
        (GAP, {}, r"the map has no gain at \(0, 20\), and devices are up to 250 m"),
        (free_space_map(), {"radio.carrier_hz": 28e9}, "map holds from 3.325 to 3.675 GHz, the carrier is at 28 GHz"),
    ],
)
def test_maps_that_do_not_fit_are_refused_before_the_run(tmp_path, made, keys, said):
    scenario = world(written(tmp_path, made))
    for key, value in keys.items():
        section, _, name = key.partition(".")
        if name:
            scenario[section][name] = value
        else:
            scenario[section] = value
    with pytest.raises(InputError, match=said):
        edgefl.run(scenario, train=False)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x_m": [0.0, 1.0], "y_m": [0.0, 1.0]}, "lacks path_gain_db"),
        (
            {"x_m": [0.0, 1.0], "y_m": [1.0, 0.0], "path_gain_db": np.zeros((1, 2, 2))},
            "y_m must be at least 2 ascending",
        ),
        ({"x_m": [0.0, 1.0], "y_m": [0.0, 1.0], "path_gain_db": np.full((1, 2, 2), -np.inf)}, "from -300 to 300"),
    ],
)
def test_files_without_a_map_are_refused(tmp_path, arrays, said):
    np.savez(tmp_path / "cell.npz", **arrays)
    with pytest.raises(InputError, match=rf"cell.npz: .*{said}"):
        edgefl.run(world(str(tmp_path / "cell.npz")), train=False)


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "cell.npz").write_bytes(b"PK\3\4 and nothing else")
    with pytest.raises(InputError, match=r"cell.npz: is not a .npz file of plain arrays"):
        edgefl.run(world(str(tmp_path / "cell.npz")), train=False)


def test_a_map_survives_its_file(tmp_path):
    made = free_space_map(TWO_SITES_M, los=np.ones((2, len(AXIS_M), len(AXIS_M)), dtype=bool))
    found = read_map(tmp_path / written(tmp_path, made))
    np.testing.assert_allclose(found.path_gain_db, made.path_gain_db, rtol=0, atol=1e-5)
    for name in ("x_m", "y_m", "los", "sites_m"):
        np.testing.assert_array_equal(getattr(found, name), getattr(made, name))
    assert found.carrier_hz == CARRIER_HZ
