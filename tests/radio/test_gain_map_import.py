"""`edgefl import-map`: the three sources give the map of which they were made."""

import json

import numpy as np
import pytest

from channel import log_distance
from edgefl.cli import main
from edgefl.core.errors import InputError
from edgefl.radio.gain_maps import import_map
from edgefl.radio.gain_maps.gain_map import NO_PATH_DB, read_map
from edgefl.radio.gain_maps.options import ImportOptions

X_M = np.arange(-40.0, 61.0, 10.0)
Y_M = np.arange(-20.0, 51.0, 5.0)
SITES_M = np.array([[0.0, 5.0], [50.0, 20.0]])


def gains_db():
    """Return the gains [2, ny, nx] of a power law."""
    x, y = np.meshgrid(X_M, Y_M)
    far_m = [np.sqrt((x - site[0]) ** 2 + (y - site[1]) ** 2 + 8.0**2) for site in SITES_M]
    return -np.array([log_distance.path_loss_db(distance_m, 3.5e9, 3.0) for distance_m in far_m])


GAINS_DB = gains_db()
LOS = GAINS_DB > -85.0


def with_gain(gain):
    """Return the linear gains with another one at (0, -5)."""
    gains = 10 ** (GAINS_DB / 10)
    gains[0, 3, 4] = gain
    return gains


def save_sionna(path, **other):
    x, y = np.meshgrid(X_M, Y_M)
    arrays = {
        "path_gain": (10 ** (GAINS_DB / 10)).astype(np.float32),
        "cell_centers": np.stack([x, y, np.full(x.shape, 1.5)], axis=-1),
        "tx_positions": np.c_[SITES_M, [10.0, 10.0]],
        "los": LOS,
        "frequency": 3.5e9,
    }
    np.savez(path, **{name: value for name, value in (arrays | other).items() if value is not None})
    return path


def save_deepmimo(folder):
    """Write a scenario of two paths for each receiver, whose powers add up to the gain; receivers in any order."""
    folder.mkdir()
    x, y = np.meshgrid(X_M, Y_M)
    order = np.random.default_rng(3).permutation(x.size)
    for site in range(2):
        name = f"t000_tx{site:03}_r001"
        total = 10 ** (GAINS_DB[site].ravel()[order] / 10)
        powers = 10 * np.log10(np.stack([total * 0.25, total * 0.75, np.full(len(total), np.nan)], axis=1))
        inter = np.where(LOS[site].ravel()[order][:, None], [[21.0, 0.0, np.nan]], [[21.0, 1.0, np.nan]])
        points = np.stack([x.ravel()[order], y.ravel()[order], np.full(len(total), 1.5)], axis=1)
        arrays = {"power": powers, "inter": inter, "rx_pos": points, "tx_pos": [*SITES_M[site], 10.0]}
        for key, value in arrays.items():
            np.savez_compressed(folder / f"{key}_{name}.npz", **{key: np.asarray(value, dtype=np.float32)})
    (folder / "params.json").write_text(json.dumps({"rt_params": {"frequency": 3.5e9}}))
    return folder


def test_radio_maps_of_sionna_are_read(tmp_path):
    found = import_map(save_sionna(tmp_path / "rm.npz"), None, ImportOptions())
    np.testing.assert_allclose(found.path_gain_db, GAINS_DB, atol=1e-5)
    np.testing.assert_array_equal(found.los, LOS)
    np.testing.assert_array_equal(found.sites_m, SITES_M)
    np.testing.assert_array_equal(found.x_m, X_M)
    np.testing.assert_array_equal(found.y_m, Y_M)
    assert found.carrier_hz == 3.5e9


def test_scenarios_of_deepmimo_are_read(tmp_path):
    found = import_map(save_deepmimo(tmp_path / "city"), None, ImportOptions())
    np.testing.assert_allclose(found.path_gain_db, GAINS_DB, atol=1e-4)
    np.testing.assert_array_equal(found.los, LOS)
    np.testing.assert_allclose(found.sites_m, SITES_M)
    np.testing.assert_array_equal(found.x_m, X_M)
    assert found.carrier_hz == 3.5e9


DEGREE_M = np.pi * 6_371_008.8 / 180
EXPORTS = {  # separator, columns, how they are mapped
    "edgefl": (",", "note,x_m,y_m,rsrp_dbm", {}),
    "G-NetTrack Pro": (",", "Timestamp,Longitude,Latitude,RSRP", {}),
    "TEMS Investigation": ("\t", "Time,All-Longitude,All-Latitude,All-Serving Cell RSRP (dBm)[1]", {}),
    "Nemo": (";", "Time,Longitude,Latitude,RSRP (NR SpCell)", {}),
    "another": (";", "t,lng,y,SS-RSRP [dBm]", {"rsrp_dbm": "SS-RSRP [dBm]", "y_m": "y"}),
}


@pytest.mark.parametrize("program", EXPORTS)
def test_measured_powers_on_a_grid_are_exact(tmp_path, program, caplog):
    """In metres, and in degrees on the tangent plane in (48.1, 11.5), by their own projection; one row has no value."""
    separator, header, columns = EXPORTS[program]
    x, y = np.meshgrid(X_M, Y_M)
    if program != "edgefl":
        x, y = (11.5 + x / (DEGREE_M * np.cos(np.radians(48.1))), 48.1 + y / DEGREE_M)
    rows = [f"12:00:00,{x[0, 0]},{y[0, 0]},,west,0"]
    for site, name in enumerate(("west", "east")):
        table = zip(x.flat, y.flat, (GAINS_DB[site] + 18.0).flat, LOS[site].flat, strict=True)
        rows += ["12:00:00,{:.12f},{:.12f},{:.9f},{name},{:d}".format(*values, name=name) for values in table]
    lines = [line.replace(",", separator) for line in (f"{header},site,los", *rows)]
    text = "\n".join(lines)
    (tmp_path / "drive.txt").write_text(text if separator == "," else text.replace(".", ","))
    origin = None if program == "edgefl" else (48.1, 11.5)
    options = ImportOptions(step_m=5.0, power_dbm=18.0, origin=origin, columns=columns)
    found = import_map(tmp_path / "drive.txt", None, options)
    np.testing.assert_allclose(found.path_gain_db[:, :, ::2], GAINS_DB, atol=1e-6)
    np.testing.assert_array_equal(found.los[:, :, ::2], LOS)
    assert found.sites_m is None
    assert "drive.txt:2: 1 row(s) without a place or rsrp_dbm, left out" in caplog.text


def test_measurements_near_a_grid_point_are_averaged_and_far_ones_leave_it_unknown(tmp_path):
    (tmp_path / "m.csv").write_text(
        "x_m,y_m,path_loss_db\n0.4,0.1,80\n-0.3,-0.4,90\n10,0,100\n20,0,100\n80,0,95\n80,20,95\n"
    )
    found = import_map(tmp_path / "m.csv", None, ImportOptions(step_m=10.0))
    gains = found.path_gain_db[0, 0]
    assert gains[0] == pytest.approx(-85.0)  # the mean in dB
    assert gains[[1, 2, 3, 4]].tolist() == [-100.0] * 4  # of measured points, within two steps
    assert np.isnan(gains[5])
    assert gains[[6, 7, 8]].tolist() == [-95.0] * 3


def test_places_without_a_path_have_no_signal(tmp_path):
    found = import_map(save_sionna(tmp_path / "rm.npz", path_gain=with_gain(0.0)), None, ImportOptions())
    assert found.path_gain_db[0, 3, 4] == NO_PATH_DB


@pytest.mark.parametrize(("gain_db", "said"), [(-57.4, ""), (15.7, "79.0 dB above that of free space, at (0, -5)")])
def test_gains_above_free_space_are_mentioned(tmp_path, caplog, gain_db, said):
    """Over 10 m free space loses 63.3 dB of 3.5 GHz, and a reflection may add 6 dB."""
    import_map(save_sionna(tmp_path / "rm.npz", path_gain=with_gain(10 ** (gain_db / 10))), None, ImportOptions())
    assert [said in record.message for record in caplog.records] == [True] * bool(said)


def test_an_origin_moves_the_map(tmp_path):
    found = import_map(save_sionna(tmp_path / "rm.npz"), None, ImportOptions(origin=(0.0, 5.0)))
    np.testing.assert_array_equal(found.sites_m, SITES_M - [0.0, 5.0])
    np.testing.assert_array_equal(found.y_m, Y_M - 5.0)
    assert found.radius_m() == 25.0


def test_the_verb_writes_a_map_and_says_its_error(tmp_path, capsys):
    save_sionna(tmp_path / "rm.npz")
    command = ["import-map", str(tmp_path / "rm.npz"), "-o", str(tmp_path / "cell.npz")]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "grid          11 x 15 points, x from -40 to 60 m and y from -20 to 50 m" in said
    assert "stations      [[0, 5], [50, 20]]" in said
    assert "held out      234 points between every second row and column: error" in said
    np.testing.assert_allclose(read_map(tmp_path / "cell.npz").path_gain_db, GAINS_DB, atol=1e-4)
    assert main(command) == 2
    assert "exists: choose another file, or add --overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def turned():
    x, y = np.meshgrid(X_M, Y_M)
    return np.stack([x + 0.1 * y, y, np.zeros(x.shape)], axis=-1)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"path_gain": None}, "lacks path_gain; it has .*: save them by np.savez"),
        ({"cell_centers": turned()}, "cell_centers are turned"),
        ({"path_gain": with_gain(np.inf)}, r"a path gain must be finite, and is infinite at \(0, -5\): trace"),
    ],
)
def test_wrong_maps_of_sionna_are_refused(tmp_path, other, said):
    with pytest.raises(InputError, match=f"rm.npz: .*{said}"):
        import_map(save_sionna(tmp_path / "rm.npz", **other), None, ImportOptions())


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("x_m,y_m,path_loss_db\n1,2,90\n", {}, r"m.csv: measurements lie on no grid: add --step-m"),
        ("x_m,y_m,rsrp_dbm\n1,2,-90\n", {"step_m": 5.0}, r"m.csv: RSRP is received power: add --power-dbm"),
        ("x_m,y_m,path_loss_db\n0,0,90\n1e6,1e6,90\n", {"step_m": 1.0}, r"--step-m 1 makes a grid of"),
        (
            "x_m,y_m,path_loss_db\n16.37,48.21,90\n16.39,48.2,90\n",
            {"step_m": 1e-4},
            r"its points lie within 0.02 m in all: if they are longitude and latitude, name the columns so",
        ),
        ("x_m,Latitude,path_loss_db\n1,2,3\n", {"step_m": 5.0}, "m.csv:2: x_m would be in degrees, as the other"),
        ("lon,lat,path_loss_db\n1,91,3\n", {"step_m": 5.0}, "m.csv:2: lat: must be from -90 to 90, got 91"),
        ("a,b,RSRP\n1,2,3\n", {"step_m": 5.0, "columns": {"x_m": "A"}}, 'no columns A.*, y_m; it has "a", "b", "RS'),
        ("x_m,y_m,RSRP\n1,2,3\n", {"step_m": 5.0, "columns": {"rsrp": "A"}}, "--columns rsrp: must be one of x_m, y_m"),
        (
            "lat,lon,RSRP,RSRP (LTE pcell)\n1,2,3,4\n",
            {"step_m": 5.0},
            'rsrp_dbm may be any of "RSRP", "RSRP .*: say which',
        ),
    ],
)
def test_wrong_measurements_are_refused(tmp_path, text, options, said):
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        import_map(tmp_path / "m.csv", None, ImportOptions(**options))
