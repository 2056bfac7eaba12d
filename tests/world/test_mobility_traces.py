"""Recorded movement: exact at its samples, and every fault of a file with its line."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.mobility import Area

AREA = Area(10.0, 250.0)
CLAMP = {"radio": {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}}


def recorded(path, count, area=AREA, **keys):
    mobility = load({"mobility": {"kind": "trace", "path": str(path), **keys}, **CLAMP}).mobility
    return mobility.track(area, count, Streams(1))


def csv_file(folder, rows, header="time_s,device,x_m,y_m", name="trace.csv"):
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


TWO = ["10,b,0,0", "10,a,100,0", "12,b,20,0", "14,b,20,40", "11,a,100,10"]


def test_device_i_is_the_i_th_to_appear_then_by_name(tmp_path):
    """Numbers in their order, so that 9 comes before 10; devices that appear later are last."""
    rows = ["5,10,3,0", "0,x,1,0", "0,10b,9,0", "5,9,2,0", "0,7,0,0"]
    starts = recorded(csv_file(tmp_path, rows), 5).positions_m(np.arange(5), 0.0)
    assert starts[:, 0].tolist() == [0.0, 9.0, 1.0, 2.0, 3.0]


def test_numbers_in_names_count_by_value(tmp_path):
    """As SUMO names the vehicles of a flow; names that are numbers come before words."""
    names = ["carflow2.10", "carflow10.1", "b", "7", "carflow2.2", "a", "carflow.0", "10.5"]
    rows = [f"{time},{name},{row},{time}" for time in (0, 1) for row, name in enumerate(names)]
    positions_m = recorded(csv_file(tmp_path, rows), len(names)).positions_m(np.arange(len(names)), 0.0)
    found = [names[int(x)] for x in positions_m[:, 0]]
    assert found == ["7", "10.5", "a", "b", "carflow.0", "carflow2.2", "carflow2.10", "carflow10.1"]


def test_devices_move_straight_between_samples(tmp_path):
    """Hand-computed; the file's first sample, at 10 s, is at time 0."""
    track = recorded(csv_file(tmp_path, TWO), 2)
    ids = np.array([1, 0])
    assert track.positions_m(ids, 0.0).tolist() == [[0, 0], [100, 0]]
    assert track.positions_m(ids, 0.5).tolist() == [[5, 0], [100, 5]]
    assert track.positions_m(ids, 3.0).tolist() == [[20, 20], [100, 10]]
    assert track.speeds_mps(ids, 0.5).tolist() == [10, 10]
    assert track.speeds_mps(ids, 2.0).tolist() == [20, 0]
    assert track.speeds_mps(ids, 4.0).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("at_end", "place", "there"),
    [("hold", [[100, 10], [20, 40]], [True, True]), ("leave", [[100, 10], [20, 40]], [False, False])],
)
def test_end_of_a_trace_holds_loops_or_leaves(tmp_path, at_end, place, there):
    track = recorded(csv_file(tmp_path, TWO), 2, at_end=at_end)
    assert track.positions_m(np.arange(2), 9.0).tolist() == place
    assert track.on_map(np.arange(2), 9.0).tolist() == there
    assert track.on_map(np.arange(2), 1.0).tolist() == [True, True]


def test_loop_starts_the_file_again(tmp_path):
    """The file takes 4 s; device a has left it after 1 s of each."""
    track = recorded(csv_file(tmp_path, TWO), 2, at_end="loop", time_offset_s=1.0)
    ids = np.arange(2)
    for time in (1.5, 2.5, 4.75):
        for turn in (1, 7):
            assert np.allclose(track.positions_m(ids, time + 4 * turn), track.positions_m(ids, time))
            assert np.array_equal(track.on_map(ids, time + 4 * turn), track.on_map(ids, time))
    assert track.on_map(ids, 1.5).tolist() == [True, True]
    assert track.on_map(ids, 3.5).tolist() == [False, True]


def test_device_is_absent_before_its_first_sample(tmp_path):
    track = recorded(csv_file(tmp_path, ["0,0,0,0", "100,0,500,0", "50,1,0,9"]), 2)
    assert track.on_map(np.arange(2), 49.0).tolist() == [True, False]
    assert track.on_map(np.arange(2), 51.0).tolist() == [True, True]
    assert track.positions_m(np.arange(2), 0.0).tolist() == [[0, 0], [0, 9]]


@pytest.mark.oracle
@settings(max_examples=25, deadline=None)
@given(
    time_scale=st.floats(0.1, 10),
    offset_s=st.floats(0, 100),
    scale=st.floats(0.1, 2),
    offset=st.tuples(st.floats(-20, 20), st.floats(-20, 20)),
)
def test_offsets_and_scales_apply_to_time_and_place(tmp_path_factory, time_scale, offset_s, scale, offset):
    """The same answers as the plain trace's, taken there and moved."""
    path = csv_file(tmp_path_factory.mktemp("trace"), TWO)
    plain = recorded(path, 2)
    ids = np.arange(2)
    keys = {"time_scale": time_scale, "time_offset_s": offset_s, "scale": scale, "offset_m": list(offset)}
    moved = recorded(path, 2, **keys)
    for time in (0.0, 0.7, 2.0, 3.9):
        there = moved.positions_m(ids, offset_s + time * time_scale)
        assert np.allclose(there, plain.positions_m(ids, time) * scale + offset, atol=1e-6)
    speeds = moved.speeds_mps(ids, offset_s + 0.5 * time_scale)
    assert np.allclose(speeds, plain.speeds_mps(ids, 0.5) * scale / time_scale)


def test_the_centre_of_the_extent_comes_to_the_base_station(tmp_path):
    track = recorded(csv_file(tmp_path, ["0,0,1000,50", "1,0,1200,90"]), 1, centre=True)
    assert track.positions_m(np.arange(1), 0.0).tolist() == [[-100, -20]]
    assert track.positions_m(np.arange(1), 1.0).tolist() == [[100, 20]]


FCD = """<?xml version="1.0"?>
<!-- SUMO -->
<fcd-export>
  <timestep time="0.00"><vehicle id="v1" x="10.5" y="-3" speed="2" lane="e_0"/></timestep>
  <timestep time="1.00"><vehicle id="v1" x="12.5" y="-3" speed="2"/><person id="p" x="1" y="2"/></timestep>
  <timestep time="2.00"/>
</fcd-export>
"""


@pytest.mark.parametrize("name", ["fcd.xml", "fcd.xml.gz"])
def test_sumo_file_is_read(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(FCD.encode()) if name.endswith("gz") else FCD.encode())
    track = recorded(path, 2)
    assert track.positions_m(np.arange(2), 1.0).tolist() == [[12.5, -3], [1, 2]]
    assert track.speeds_mps(np.arange(2), 0.5).tolist() == [2, 0]
    assert track.on_map(np.arange(2), 0.5).tolist() == [True, False]


def gpx(points, extra=""):
    rows = "\n".join(
        f'<trkpt lat="{lat}" lon="{lon}"><ele>3</ele><time>{time}</time></trkpt>' for lat, lon, time in points
    )
    return f'<gpx xmlns="http://www.topografix.com/GPX/1/1">{extra}<trk><trkseg>\n{rows}\n</trkseg></trk></gpx>'


def test_gpx_file_is_read(tmp_path):
    """A minute of latitude is a nautical mile to 0.1 %, of longitude cos(latitude) of it; metadata have times too."""
    path = tmp_path / "walk.gpx"
    points = [(60, 20, "2024-05-01T12:00:00Z"), (60 + 0.1 / 60, 20, "2024-05-01T12:01:00Z")]
    points.append((60 + 0.1 / 60, 20 + 0.1 / 60, "2024-05-01T14:02:00+02:00"))
    path.write_text(gpx(points, "<metadata><time>2020-01-01T00:00:00Z</time></metadata>"))
    track = recorded(path, 1, origin=[60, 20])
    ids = np.arange(1)
    assert np.allclose(track.positions_m(ids, 0.0), 0.0)
    assert np.allclose(track.positions_m(ids, 60.0), [[0, 185.3]], atol=0.1)
    assert np.allclose(track.positions_m(ids, 120.0), [[92.65, 185.3]], atol=0.1)
    assert track.speeds_mps(ids, 30.0) == pytest.approx(185.3 / 60, rel=1e-3)
    middle = recorded(path, 1)
    mean = sum(middle.positions_m(ids, time) for time in (0.0, 60.0, 120.0))
    assert np.allclose(mean, 0.0, atol=1e-6)


NAUTICAL_MILE_M = 1853.2  # a minute of latitude on a sphere of mean radius


def fcd(rows):
    """A file of SUMO; rows are (time, x, y, other attributes) of one vehicle."""
    steps = [
        f'<timestep time="{time}"><vehicle id="v" x="{x}" y="{y}" {more}/></timestep>' for time, x, y, more in rows
    ]
    return f"<fcd-export>{''.join(steps)}</fcd-export>"


MINUTE = 1 / 60
DRIVE = [(0, 20, 60, 'speed="30"'), (60, 20, 60 + MINUTE, 'speed="31"'), (120, 20 + MINUTE, 60 + MINUTE, 'speed="15"')]
SILENT = [(time, x, y, "") for time, x, y, _ in DRIVE]


@pytest.mark.parametrize(
    ("rows", "keys"),
    [(DRIVE, {}), (DRIVE, {"coordinates": "lon_lat"}), (SILENT, {"coordinates": "lon_lat"})],
    ids=["its speeds tell", "told", "told without speeds"],
)
def test_sumo_file_in_degrees_is_projected(tmp_path, rows, keys):
    """SUMO's --fcd-output.geo writes longitude and latitude under the same names; projected as GPX is."""
    path = tmp_path / "geo.xml"
    path.write_text(fcd(rows))
    track = recorded(path, 1, origin=[60, 20], **keys)
    ids = np.arange(1)
    assert np.allclose(track.positions_m(ids, 0.0), 0.0)
    assert np.allclose(track.positions_m(ids, 60.0), [[0, NAUTICAL_MILE_M]], atol=0.5)
    assert np.allclose(track.positions_m(ids, 120.0), [[NAUTICAL_MILE_M / 2, NAUTICAL_MILE_M]], atol=0.5)


def test_small_numbers_in_metres_stay_metres(tmp_path):
    """A junction of 60 m: its numbers could be degrees, but its speeds, or else its extent, agree with metres."""
    path = tmp_path / "junction.xml"
    for more in ('speed="10"', ""):
        path.write_text(fcd([(0, 0, 0, more), (6, 60, 0, more)]))
        assert recorded(path, 1).positions_m(np.arange(1), 6.0).tolist() == [[60, 0]]


def test_movement_within_a_metre_is_refused(tmp_path):
    path = tmp_path / "geo.xml"
    path.write_text(fcd(SILENT))
    with pytest.raises(InputError, match=r"within 0.0167 m in all: if it is in degrees, write coordinates: lon_lat"):
        recorded(path, 1)
    assert recorded(path, 1, coordinates="metres").positions_m(np.arange(1), 0.0).tolist() == [[20, 60]]
    table = csv_file(tmp_path, ["0,a,20,60", "60,a,20,60.0167"])
    with pytest.raises(InputError, match=r"trace.csv: its devices move, but within 0.0167 m in all"):
        recorded(table, 1)
    points = recorded(table, 1, coordinates="lon_lat", origin=[60, 20]).positions_m(np.arange(1), 60.0)
    assert np.allclose(points, [[0, NAUTICAL_MILE_M]], rtol=0.003)
    still = csv_file(tmp_path, ["0,a,20,60", "60,a,20,60"])  # nothing moves: nothing is wrong
    assert recorded(still, 1).positions_m(np.arange(1), 60.0).tolist() == [[20, 60]]


def test_impossible_degrees_are_refused(tmp_path):
    path = csv_file(tmp_path, ["0,a,20,60", "60,a,20,91"])
    with pytest.raises(InputError, match=r"trace.csv:3: device a: 20, 91 must be longitude and latitude in degrees"):
        recorded(path, 1, coordinates="lon_lat")


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "people", "kept"),
    [("ucy_zara01_obsmat.txt.gz", 148, 5024), ("ucy_students03_obsmat.txt.gz", 428, 21846)],
)
def test_real_pedestrian_trace_is_read(data_folder, name, people, kept):
    """Exact at every sample of the file, read here a second time with NumPy; walking speeds are those of people."""
    if not (data_folder / name).exists():
        pytest.skip(f"EDGEFL_DATA has no {name}")
    track = recorded(name, people)  # found by EDGEFL_DATA
    rows = np.loadtxt(data_folder / name)
    assert len(rows) == kept
    names = sorted(set(rows[:, 1]), key=lambda person: (rows[rows[:, 1] == person, 0].min(), person))
    seconds = (rows[:, 0] - rows[:, 0].min()) / 25.0
    pick = np.random.default_rng(0).choice(kept, 500, replace=False)
    asked = [track.positions_m(np.array([names.index(rows[i, 1])]), seconds[i])[0] for i in pick]
    assert np.allclose(asked, rows[pick][:, [2, 4]], atol=1e-12)
    speeds = np.array([track.speeds_mps(np.array([names.index(rows[i, 1])]), seconds[i])[0] for i in pick])
    assert 0.5 < np.median(speeds[speeds > 0]) < 2.0


def test_real_sumo_export_is_read(data_folder):
    """26 vehicles, far from the origin; speeds between samples agree with those that SUMO wrote, to its time step."""
    name = "sumo_circles_fcd.xml.gz"
    if not (data_folder / name).exists():
        pytest.skip(f"EDGEFL_DATA has no {name}")
    with pytest.raises(InputError, match=r"nearer to a base station than 1\d\d\d m.*set centre to true"):
        recorded(name, 26)
    track = recorded(name, 26, centre=True, scale=0.1)
    assert track.on_map(np.arange(26), 59.0).any()
    original = recorded(name, 26, area=Area(10.0, 1e5))
    assert np.allclose(original.positions_m(np.arange(2), 5.0), [[-1702.05, 32.39], [-1698.75, 13.73]], atol=6)
    assert original.speeds_mps(np.array([0]), 4.5) == pytest.approx(11.14, abs=0.01)


BAD_CSV = {
    "no_column": (
        ["0,1,2,3"],
        "when,device,x,y_m",
        r'trace.csv:1: has no columns time_s, x_m.*; it has "when", "device", "x", "y_m": .* map them with columns',
    ),
    "no_number": (["0,1,2,3", "1,1,here,3"], None, r'trace.csv:3: x_m: must be a number, got "here"'),
    "huge": (["0,1,2,3", "1,1,0,1e99"], None, r"trace.csv:3: device 1: time and place must be numbers up to 1e\+12"),
    "nobody": (["0,1,2,3", "", "1,,2,3"], None, r"trace.csv:4: a device has no name"),
    "too_few": (["0,1,2,3"], None, r"trace.csv: has tracks of 1 devices, the scenario has 2: lower devices.count"),
    "far": (["0,1,300,400", "0,2,600,0"], None, r"no nearer .* than 500 m, a cell ends at 250 m: set centre"),
}


@pytest.mark.parametrize("name", BAD_CSV)
def test_faults_of_a_csv_file(tmp_path, name):
    rows, header, message = BAD_CSV[name]
    path = csv_file(tmp_path, rows, header or "time_s,device,x_m,y_m")
    with pytest.raises(InputError, match=rf"^mobility.path: .*{message}"):
        recorded(path, 2)


BAD_FILES = {
    "a.xml": (
        '<fcd-export>\n<timestep time="0"><vehicle id="1" x="1"/></timestep>\n</fcd-export>',
        r":2: <vehicle> has no y",
    ),
    "b.xml": (
        "<fcd-export>\n<timestep",
        ":2: ends before its elements do: the program that writes it had not finished",
    ),
    "c.xml": ('<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;</a>', ":1: has a document type"),
    "d.gpx": (
        '<gpx><trk>\n<trkpt lat="1" lon="2"></trkpt></trk></gpx>',
        ":2: <trkpt> has no <time>, .* as planned routes have no times; if other points have one, delete this one",
    ),
    "e.txt": ("1 2 3\n", ":1: has 3 columns between spaces; obsmat files have 8 columns .frame, person"),
    "tag.xml": (f"<a>\n<b c='{'c' * 2**22}", ":2: holds a tag that is longer than any of a trace"),
    "i.csv": (f"time_s,device,x_m,y_m\n0,a,1,1{'0' * 2**20}", ": cannot be read: has a line of more than 1 MiB"),
    "g.txt.gz": ("1 2 3 0 4 0 0 0\n", ": cannot be read: is not a whole gzip file"),
    "h.csv": (b"time_s,device,x_m,y_m\n\xff", ":2: is not in UTF-8"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_faults_of_other_files(tmp_path, name):
    content, message = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=rf"^mobility.path: .*{name}{message}"):
        recorded(path, 1)


def test_a_wrong_sample_is_refused_before_later_ones_are_read(tmp_path):
    with pytest.raises(InputError, match=r"trace\.csv:3: device a: times must not fall, got 1 s after 2 s: sort the"):
        recorded(csv_file(tmp_path, ["2,a,1,1", "1,a,1,1", "no row"]), 1)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"path": "a.txt", "origin": [1, 2]}, "mobility.origin: projects degrees; obsmat files are in metres"),
        ({"path": "a.csv", "columns": {"xm": "lon"}}, r"mobility.columns.xm: must be 'time_s', .*mean .x_m"),
        ({"path": "a.gpx", "columns": {"x_m": "lon"}}, "mobility.columns: gpx files have no names of columns"),
        ({"path": "a.gpx", "coordinates": "metres"}, "mobility.coordinates: gpx files are in degrees"),
        ({"path": "a.gpx", "origin": [95, 2]}, "mobility.origin: must be .latitude, longitude. in degrees"),
    ],
)
def test_contradictory_keys_of_traces_are_refused(keys, message):
    with pytest.raises(InputError, match=message):
        load({"mobility": {"kind": "trace", **keys}, **CLAMP})


def test_a_trace_may_cross_the_base_station_only_where_that_is_priced():
    with pytest.raises(
        InputError, match=r"radio.propagation: .*the cell spans 0 m to 250 m: set radio.propagation to log"
    ):
        load({"mobility": {"kind": "trace", "path": "a.csv"}})
