"""Devices of a trace are absent where their recording has a gap, and only there."""

import gzip
from xml.sax.saxutils import quoteattr

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgefl
from edgefl.core import sample_times
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.testing import check_mobility
from edgefl.world.mobility import Area
from edgefl.world.mobility.trace import Trace

AREA = Area(10.0, 250.0)
RADIO = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}


def track_of(path, count, **keys):
    mobility = load({"mobility": {"kind": "trace", "path": str(path), **keys}, "radio": RADIO}).mobility
    return mobility.track(AREA, count, Streams(1))


def fcd(path, steps):
    """A file of SUMO: steps are (time, elements), elements (tag, id, x, y, other attributes)."""
    lines = ["<fcd-export>"]
    for time, devices in steps:
        lines.append(f'<timestep time="{time}">')
        for tag, name, x, y, more in devices:
            lines.append(f'  <{tag} id={quoteattr(name)} x="{x}" y="{y}" {more}/>')
        lines.append("</timestep>")
    path.write_text("\n".join([*lines, "</fcd-export>\n"]))
    return path


def car(x, y=0.0, more=""):
    return ("vehicle", "car", x, y, more)


def bus(x=0.0):
    return ("vehicle", "bus", x, 100.0, "")


@pytest.fixture
def away(tmp_path):
    """A car that drives 10 m a second to 10 s, and is back at 900 s on the other side; a bus is there all the time."""
    steps = []
    for second in range(1000):
        there = [bus(second / 10)]
        if second <= 10:
            there.append(car(10.0 * second))
        if second >= 900:
            there.append(car(-100.0 + (second - 900)))
        steps.append((f"{second}.00", there))
    return fcd(tmp_path / "away.xml", steps)


@pytest.fixture
def warned(caplog):
    """The warnings so far, each once."""
    sample_times.warn_once.cache_clear()
    return lambda: [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


CAR_A = '<vehicle id="a" x="0" y="0"/>'
CAR = np.array([1])  # it is named after the bus


def presence(track, device, times_s):
    return [bool(track.on_map(np.array([device]), float(time_s))[0]) for time_s in times_s]


# SUMO


def test_vehicle_that_is_missing_from_time_steps_is_absent(away):
    track = track_of(away, 2)
    assert presence(track, 1, range(1000)) == [second <= 10 or second >= 900 for second in range(1000)]
    assert all(presence(track, 0, range(1000)))
    # Until it returns it does not move: half of the time at the one place, then at the other.
    assert track.positions_m(CAR, 400.0).tolist() == [[100.0, 0.0]]
    assert track.positions_m(CAR, 500.0).tolist() == [[-100.0, 0.0]]
    assert track.speeds_mps(CAR, 5.0).tolist() == [10.0]
    assert track.speeds_mps(CAR, 400.0).tolist() == [0.0]
    assert track.speeds_mps(CAR, 905.5).tolist() == [1.0]
    path_m = track.path_m(1, np.array([0.0, 5.0, 10.0, 11.0, 899.0, 900.0, 910.0]))
    assert path_m[:, 0].tolist() == [0, 50, 100, 100, -100, -100, -90]
    far = np.array([1e9])
    ends_s = [float(track.stays_within_until_s(CAR, time, far)[0]) for time in (0.0, 11.0, 600.0, 900.0)]
    assert ends_s[:3] == pytest.approx([10.0, 455.0, 900.0])
    assert ends_s[3] == pytest.approx(1e8 + 900)  # at 10 m/s, the fastest that it drives


def test_fastest_movement_leaves_absences_out(tmp_path):
    """A device that returns 2 km away did not drive there, so the checks of coverage can still skip time."""
    steps = [("0", [car(0)]), ("1", [car(5)]), ("2", []), ("3", [car(2000)]), ("4", [car(2005)])]
    track = track_of(fcd(tmp_path / "jump.xml", steps), 1)
    assert track.fastest_mps.tolist() == [5.0]


@pytest.mark.oracle
@settings(max_examples=50, deadline=None)
@given(
    there=st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=2, max_size=25),
    period_s=st.sampled_from([0.1, 0.5, 1.0, 5.0, 60.0]),
    begin_s=st.sampled_from([0.0, 0.3, 36000.0]),
)
def test_each_device_is_present_in_exactly_its_time_steps(tmp_path_factory, there, period_s, begin_s):
    """Seconds of presence add up to the time steps, whatever the period; positions in them are the file's."""
    everyone = [True] * 4
    there = np.array([everyone, *there, everyone])  # so that the first sample is at 0, and no device ends before
    steps = []
    for number, row in enumerate(there.tolist()):
        cars = [("vehicle", str(car), 10.0 * car + number, -number, "") for car in range(4) if row[car]]
        steps.append((f"{begin_s + number * period_s:.2f}", cars))
    track = track_of(fcd(tmp_path_factory.mktemp("trace") / "t.xml", steps), 4)
    ids = np.arange(4)
    found = np.array([track.on_map(ids, number * period_s) for number in range(len(there))])
    assert found.tolist() == there.tolist()
    assert found.sum() * period_s == pytest.approx(there.sum() * period_s)
    for number, row in enumerate(there):
        exact = np.array([[10.0 * car + number, -number] for car in range(4)])
        assert np.allclose(track.positions_m(ids, number * period_s)[row], exact[row])


def test_empty_time_steps_that_sumo_leaves_out_count_as_absence(tmp_path):
    """--fcd-output.skip-empty writes no time steps without vehicles, so the file jumps from 2 s to 60 s."""
    steps = [(f"{second}.00", [car(second)]) for second in (0, 1, 2, 60, 61)]
    track = track_of(fcd(tmp_path / "t.xml", steps), 1)
    assert presence(track, 0, [0, 2, 3, 59, 60, 61]) == [True, True, False, False, True, True]


def test_devices_stay_present_between_time_steps_of_a_period(tmp_path):
    """--device.fcd.period 10, with a first step that is not full; rounded times of 1/3 s."""
    steps = [(f"{second}.00", [car(second)]) for second in (0, 10, 20, 30)]
    assert all(presence(track_of(fcd(tmp_path / "t.xml", steps), 1), 0, range(31)))
    steps = [(time, [car(0)]) for time in ("0.00", "0.33", "0.67", "1.00")]
    assert all(presence(track_of(fcd(tmp_path / "u.xml", steps), 1), 0, np.linspace(0, 1, 11)))


def test_a_vehicle_and_a_person_of_one_id_are_two_devices(tmp_path):
    steps = [
        ("0.00", [("vehicle", "7", 0, 0, 'speed="1"'), ("person", "7", 50, 0, ""), ("container", "7", 0, 90, "")]),
        ("1.00", [("vehicle", "7", 1, 0, 'speed="1"'), ("person", "7", 50, 2, ""), ("container", "7", 0, 90, "")]),
    ]
    track = track_of(fcd(tmp_path / "t.xml", steps), 3)
    assert track.positions_m(np.arange(3), 1.0).tolist() == [[1, 0], [50, 2], [0, 90]]


def test_more_attributes_and_packed_files_of_any_name_are_read(tmp_path):
    """Attributes of the mesoscopic simulation; SUMO packs what it writes to a name that ends in .gz."""
    more = 'z="0.00" speedVec="1.00,2.00" edge="-258#4" segment="1" queue="0" entryTime="18004.46" signals="8"'
    steps = f'<timestep time="0.00"/><timestep time="1.00"><vehicle id="a" x="1" y="2" {more}/></timestep>'
    path = tmp_path / "fcd.gz"
    path.write_bytes(gzip.compress(f"<fcd-export>{steps}</fcd-export>".encode()))
    assert track_of(path, 1, format="fcd").positions_m(np.arange(1), 0.0).tolist() == [[1, 2]]
    with pytest.raises(InputError, match=r"mobility.format: is required where the file's name does not end in .csv"):
        track_of(path, 1)


def test_people_inside_of_a_vehicle_are_read(tmp_path):
    """SUMO writes passengers as children of their vehicle."""
    path = tmp_path / "t.xml"
    path.write_text(
        '<fcd-export><timestep time="0.00"><vehicle id="bus" x="1" y="2" speed="3" signals="8">'
        '<person id="p" x="1" y="2" vehicle="bus"/></vehicle></timestep></fcd-export>'
    )
    assert track_of(path, 2).positions_m(np.arange(2), 0.0).tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (("00:00:00", "00:00:10"), 10),
        (("0:0:0.00", "0:0:10.50"), 10.5),
        (("23:59:59.00", "1:00:00:01.00"), 2),
        (("-0:00:05", "0:00:05"), 10),
        (("3599.50", "3601"), 1.5),
    ],
)
def test_times_of_sumo_clocks_are_read(tmp_path, written, seconds):
    """--human-readable-time writes hours, minutes and seconds, after 24 h with days."""
    track = track_of(fcd(tmp_path / "t.xml", [(written[0], [car(0)]), (written[1], [car(100)])]), 1)
    assert track.positions_m(np.arange(1), seconds / 2).tolist() == [[50, 0]]
    assert track.positions_m(np.arange(1), seconds).tolist() == [[100, 0]]


def test_unknown_positions_of_sumo_are_left_out_with_one_warning(tmp_path, warned):
    unknown = "-1073741824.00"
    steps = [
        ("0.00", [car(0, more='speed="1"'), bus()]),
        ("1.00", [("vehicle", "car", unknown, unknown, f'speed="{unknown}"'), bus()]),
        ("2.00", [("vehicle", "car", unknown, unknown, ""), bus()]),
        ("3.00", [car(30, more=f'speed="{unknown}"'), bus()]),
    ]
    path = fcd(tmp_path / "t.xml", steps)
    track = track_of(path, 2)
    assert presence(track, 1, [0, 1, 2, 3]) == [True, False, False, True]
    (line,) = warned()
    assert line.endswith(
        f"{path}:7: 2 positions are unknown (the first: device car, -1073741824, -1073741824): left out"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '<fcd-export><timestep time="0">\n<vehicle id="a" speed="3"/></timestep></fcd-export>',
            r":2: <vehicle> has no x: name x and y in SUMO's option --fcd-output.attributes, or leave it out",
        ),
        ('<fcd-export><timestep time="noon">\n</timestep></fcd-export>', r':1: <timestep> needs a time .*"noon"'),
        ("<fcd-export><timestep>\n</timestep></fcd-export>", r":1: <timestep> has no time"),
        ('<routes>\n<vehicle id="a" depart="0"/></routes>', r":2: <vehicle> is in no <timestep>: .* --fcd-output"),
        ('<fcd-export>\n<timestep time="0"><vehicle id="a" x="0" y="0"/>', r":2: ends before its elements do"),
        (
            f'<fcd-export><timestep time="2">{CAR_A}</timestep>\n<timestep time="1.50">{CAR_A}</timestep></fcd-export>',
            r":2: device a: times must not fall, got 1.50 s after 2 s: sort the file by time",
        ),
    ],
)  # fmt: skip
def test_faults_of_files_of_sumo_say_what_to_do(tmp_path, content, message):
    path = tmp_path / "t.xml"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"^mobility.path: .*t.xml{message}"):
        track_of(path, 1)


@pytest.mark.parametrize("at_end", ["hold", "leave"])
def test_vehicles_that_have_arrived_are_gone(tmp_path, at_end):
    """A car of two time steps, a bus of all three: after the file's end only what its last step has may stay."""
    path = fcd(tmp_path / "t.xml", [("0.00", [car(0), bus()]), ("1.00", [car(9), bus()]), ("2.00", [bus()])])
    track = track_of(path, 2, at_end=at_end)
    times_s = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
    assert presence(track, 0, times_s) == [True, True, True, True, True, at_end == "hold"]  # the bus
    assert presence(track, 1, times_s) == [True, True, True, False, False, False]
    assert track.stays_within_until_s(np.array([1]), 0.5, np.array([np.inf])).tolist() == [1.0]


@pytest.mark.oracle
@settings(max_examples=50, deadline=None)
@given(
    there=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=12),
    empty_steps=st.integers(0, 4),
    time_scale=st.sampled_from([0.5, 1.0, 2.0]),
    time_offset_s=st.sampled_from([0.0, 15.0]),
    at_end=st.sampled_from(["hold", "loop", "leave"]),
)
def test_time_steps_without_vehicles_at_the_end_belong_to_the_file(
    tmp_path_factory, there, empty_steps, time_scale, time_offset_s, at_end
):
    """A simulation goes on after the last vehicle has arrived: none is left then, and `loop` begins again later."""
    there = np.array([[True] * 3, *there, *[[False] * 3] * empty_steps])
    steps = []
    for number, row in enumerate(there.tolist()):
        steps.append((f"{number}.00", [("vehicle", str(car), car, number, "") for car in range(3) if row[car]]))
    path = fcd(tmp_path_factory.mktemp("trace") / "t.xml", steps)
    track = track_of(path, 3, time_scale=time_scale, time_offset_s=time_offset_s, at_end=at_end)

    def found(step):
        return track.on_map(np.arange(3), time_offset_s + step * time_scale).tolist()

    last = len(there) - 1
    assert [found(step) for step in range(len(there) - 1)] == there[:-1].tolist()
    if at_end == "loop":  # the file's last time is its first one, again
        assert [found(step) for step in range(last, 3 * last)] == [*there[:-1].tolist()] * 2
    else:
        assert found(last) == there[-1].tolist()
        stays = there[-1].tolist() if at_end == "hold" else [False] * 3
        assert found(last + 1) == found(last + 100) == stays


def test_each_file_of_a_folder_ends_by_itself(tmp_path):
    fcd(tmp_path / "a.xml", [(f"{second}", [car(second)]) for second in range(3)])
    fcd(tmp_path / "b.xml", [(f"{second}", [bus()] if second < 2 else []) for second in range(9)])
    track = track_of(tmp_path, 2, format="fcd")
    assert presence(track, 0, [2.0, 3.0, 9.0]) == [True, True, True]
    assert presence(track, 1, [1.0, 2.0, 9.0]) == [True, False, False]


def test_vehicles_that_report_rarely_stay_until_their_gap(tmp_path):
    path = fcd(tmp_path / "t.xml", [(f"{second}", [car(0)] if second < 5 else [bus()]) for second in range(9)])
    assert presence(track_of(path, 2), 0, [4.0, 5.0, 9.0]) == [True, False, False]
    assert presence(track_of(path, 2, gap_s=4), 0, [4.0, 5.0, 9.0]) == [True, True, True]
    assert presence(track_of(path, 2, gap_s=3), 0, [4.0, 5.0, 9.0]) == [True, False, False]


def test_devices_that_are_mostly_absent_are_mentioned_once(tmp_path, warned):
    """Cars that report in turn: each is in every third step only."""
    steps = [(f"{second}", [("vehicle", str(second % 3), second, 0, "")]) for second in range(12)]
    path = fcd(tmp_path / "t.xml", steps)
    for _ in range(2):
        track_of(path, 3, at_end="leave")
    (line,) = warned()
    assert "devices are absent between most of their samples" in line
    assert "write gap_s" in line
    assert all(presence(track_of(path, 3, at_end="leave", gap_s=3), 0, range(10)))


# GPX


def gpx(path, tracks):
    """Tracks are lists of segments, which are lists of (longitude, time)."""
    text = "".join(
        "<trk>"
        + "".join(
            "<trkseg>\n"
            + "\n".join(f'<trkpt lat="0" lon="{lon}"><time>{time}</time></trkpt>' for lon, time in segment)
            + "\n</trkseg>"
            for segment in segments
        )
        + "</trk>"
        for segments in tracks
    )
    path.write_text(f'<?xml version="1.0"?>\n<gpx version="1.0">{text}</gpx>')
    return path


def at(second):
    return f"2024-05-01T12:{second // 60:02d}:{second % 60:02d}Z"


def test_device_is_absent_between_segments_of_a_track(tmp_path):
    first = [[(0.0, at(0)), (0.001, at(10))], [], [(0.0, at(60))], [(0.0, at(70)), (0.001, at(90))]]
    second = [[(0.0, at(0)), (0.0, at(90))]]
    track = track_of(gpx(tmp_path / "t.gpx", [first, second]), 2)
    times = [0, 5, 10, 11, 59, 60, 61, 69, 70, 80, 90]
    expected = [True, True, True, False, False, True, False, False, True, True, True]
    assert presence(track, 0, times) == expected
    assert all(presence(track, 1, times))


def test_segments_of_one_point_are_present_at_their_times_only(tmp_path):
    """Times with milliseconds and a zone; the device is away for an hour, and nothing says that it moved."""
    first, second = "2010-04-02T14:10:10.748+02:00", "2010-04-02T15:13:10.834+02:00"
    track = track_of(gpx(tmp_path / "t.gpx", [[[(24.368, first)], [(24.207, second)]]]), 1, centre=True, scale=0.01)
    assert presence(track, 0, [0, 1, 3780, 3780.086]) == [True, False, False, True]
    assert track.speeds_mps(np.arange(1), 1000.0).tolist() == [0.0]
    assert track.fastest_mps.tolist() == [0.0]


def test_receivers_that_write_several_points_in_a_second_are_read(tmp_path, warned):
    points = [(0.0, at(34)), (0.001, at(39)), (0.002, at(39)), (0.003, at(39)), (0.004, at(42))]
    track = track_of(gpx(tmp_path / "t.gpx", [[points]]), 1, origin=[0, 0])
    assert track.positions_m(np.arange(1), 5.0)[0, 0] == pytest.approx(3 * 111.19, abs=0.1)
    (line,) = warned()
    assert f"2 samples repeat the time of their device's sample before (the first: device 0 at {at(39)})" in line


def test_gpx_that_was_recorded_backwards_is_refused(tmp_path):
    with pytest.raises(InputError, match=rf"t.gpx:4: device 0: times must not fall, got {at(34)} after {at(59)}: sort"):
        track_of(gpx(tmp_path / "t.gpx", [[[(0.0, at(59)), (0.0, at(34))]]]), 1)


def test_gap_s_decides_instead_of_segments(tmp_path):
    """Receivers begin a segment after each second without a fix; a long pause within one is an absence."""
    path = gpx(tmp_path / "t.gpx", [[[(0.0, at(0)), (0.0, at(9))], [(0.0, at(11)), (0.001, at(500))]]])
    track = track_of(path, 1, gap_s=30)
    assert presence(track, 0, [9, 10, 11, 12, 499, 500]) == [True, True, True, False, False, True]


def test_gpx_files_of_sumo_are_read(tmp_path):
    """traceExporter.py writes SUMO's seconds as times."""
    path = gpx(tmp_path / "t.gpx", [[[(0.0, "55.0"), (0.001, "65.0")]], [[(0.0, "0:01:00.00"), (0.0, "0:01:05.00")]]])
    track = track_of(path, 2, origin=[0, 0])
    metres = track.positions_m(np.arange(1), 10.0)[0, 0]
    assert metres == pytest.approx(111.2, abs=0.1)
    assert presence(track, 1, [4, 5, 10]) == [False, True, True]


# CSV


def test_floating_car_data_as_csv_are_read_by_the_names_of_their_columns(tmp_path):
    """SUMO writes CSV to a name that ends in .csv, with columns of its own and semicolons."""
    path = tmp_path / "fcd.csv"
    path.write_text("timestep_time;vehicle_id;vehicle_x;vehicle_y\n100.00;a;5.10;98.35\n")
    with pytest.raises(InputError, match=r"fcd.csv:1: has no columns time_s.*, device, x_m, y_m; .* map them"):
        track_of(path, 1)
    columns = {"time_s": "timestep_time", "device": "vehicle_id", "x_m": "vehicle_x", "y_m": "vehicle_y"}
    assert track_of(path, 1, columns=columns).positions_m(np.array([0]), 0.0).tolist() == [[5.1, 98.35]]


def csv(path, rows):
    path.write_text("time_s,device,x_m,y_m\n" + "\n".join(rows) + "\n")
    return path


def test_gap_s_makes_absences_in_csv_and_without_it_there_are_none(tmp_path):
    path = csv(tmp_path / "t.csv", ["0,a,0,0", "10,a,100,0", "900,a,-100,0", "910,a,0,0"])
    assert all(presence(track_of(path, 1), 0, range(911)))
    track = track_of(path, 1, gap_s=889.9)
    assert presence(track, 0, [10, 11, 899, 900]) == [True, False, False, True]
    assert all(presence(track_of(path, 1, gap_s=890), 0, range(911)))
    slow = track_of(path, 1, gap_s=889.9, time_scale=2.0, time_offset_s=5.0)  # gap_s counts seconds of the file
    assert presence(slow, 0, [25, 26, 1804, 1805]) == [True, False, False, True]


@pytest.mark.oracle
@settings(max_examples=40, deadline=None)
@given(
    steps_s=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    gap_s=st.integers(1, 30),
    at_end=st.sampled_from(["hold", "loop", "leave"]),
    times_ms=st.lists(st.integers(0, 400_000), min_size=1, max_size=20),
)
def test_gaps_change_nothing_but_presence(tmp_path_factory, steps_s, gap_s, at_end, times_ms):
    """Within segments, positions and speeds are those of the whole recording; between them the device is absent."""
    sampled_s = np.concatenate([[0], np.cumsum(steps_s)])
    rows = [f"{time},a,{(7 * number) % 11},{(5 * number) % 13}" for number, time in enumerate(sampled_s.tolist())]
    path = csv(tmp_path_factory.mktemp("trace") / "t.csv", rows)
    whole = track_of(path, 1, at_end=at_end, coordinates="metres")
    parts = track_of(path, 1, at_end=at_end, coordinates="metres", gap_s=gap_s)
    one = np.array([0])
    for time_s in (time_ms / 1000 for time_ms in times_ms):
        file_s = time_s % sampled_s[-1] if at_end == "loop" else time_s
        before = int(np.searchsorted(sampled_s, file_s, side="right")) - 1
        is_in_gap = before < len(steps_s) and steps_s[before] > gap_s and sampled_s[before] < file_s
        assert parts.on_map(one, time_s)[0] == (whole.on_map(one, time_s)[0] and not is_in_gap)
        if not is_in_gap:
            assert np.allclose(parts.positions_m(one, time_s), whole.positions_m(one, time_s))
        if not is_in_gap and not (before < len(steps_s) and steps_s[before] > gap_s):
            assert parts.speeds_mps(one, time_s) == pytest.approx(whole.speeds_mps(one, time_s))


@pytest.mark.oracle
@pytest.mark.parametrize("at_end", ["hold", "loop", "leave"])
def test_a_trace_with_gaps_keeps_the_promises_of_a_mobility_model(tmp_path, at_end):
    rng = np.random.default_rng(3)
    rows = []
    for device in range(40):
        times_s = np.cumsum(rng.uniform(0.5, 40, 12))
        rows += [
            f"{time:.2f},{device},{x:.1f},{y:.1f}"
            for time, (x, y) in zip(times_s, rng.uniform(-90, 90, (12, 2)), strict=True)
        ]
    path = csv(tmp_path / "t.csv", rows)
    report = check_mobility(Trace, jumps=True, path=path, gap_s=12.0, at_end=at_end)
    assert report.ok, str(report)


def test_samples_at_one_time_count_as_the_last_one_with_one_warning(tmp_path, warned):
    rows = ["2024-05-01T12:00:00Z,a,0,0", "2024-05-01T12:00:01Z,a,1,0", "2024-05-01T12:00:01Z,a,2,0"]
    rows += ["2024-05-01T12:00:01Z,b,5,0", "2024-05-01T12:00:02Z,a,3,0", "2024-05-01T12:00:02Z,a,4,0"]
    path = csv(tmp_path / "t.csv", rows)
    for _ in range(2):
        track = track_of(path, 2)
    assert track.positions_m(np.arange(1), 1.0).tolist() == [[2, 0]]
    assert track.positions_m(np.arange(1), 2.0).tolist() == [[4, 0]]
    (line,) = warned()
    assert line == (
        f"warning: mobility.path: {path}:4: 2 samples repeat the time of their device's sample before (the first: "
        "device a at 2024-05-01T12:00:01Z): of samples at one time the last counts"
    )


def test_times_that_fall_are_shown_as_in_the_file(tmp_path):
    rows = ["2024-05-01T12:00:05Z,a,0,0", "2024-05-01T12:00:01Z,a,1,0"]
    text = r"t.csv:3: device a: times must not fall, got 2024-05-01T12:00:01Z after 2024-05-01T12:00:05Z: sort the file"
    with pytest.raises(InputError, match=text):
        track_of(csv(tmp_path / "t.csv", rows), 1)
    (tmp_path / "t.txt").write_text("10 1 0 0 0 0 0 0\n5 1 0 0 0 0 0 0\n")
    with pytest.raises(InputError, match=r"t.txt:2: device 1: times must not fall, got frame 5 after frame 10"):
        track_of(tmp_path / "t.txt", 1)


@pytest.mark.oracle
def test_repeated_rows_do_not_fill_the_memory(tmp_path):
    """A file of equal rows packs well; only one of them is kept."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"time_s,device,x_m,y_m\n" + b"1,a,1,1\n" * 20_000))
    track = track_of(path, 1)
    assert track.positions_m(np.arange(1), 0.0).tolist() == [[1, 1]]


# Runs


def run(path, out=None, **changes):
    base = {
        "rounds": 60,
        "stop": {"time_s": 1000},
        "data": {"dataset": "digits"},
        "model": {"kind": "mlp", "cost": {"parameters": 1_700_000, "flops_per_parameter": 91.04}},
        "devices": {"count": 2},
        "server": {"participants": 2},
        "mobility": {"kind": "trace", "path": str(path)},
        "cells": {"radius_m": 400, "bs_height_m": 25},
        "radio": {"bandwidth_hz": 2e6, "propagation": {"kind": "uma", "out_of_range": "clamp"}},
    }
    return edgefl.run({**base, **changes}, out=out, train=False, device="cpu")


def begins_s(result):
    """When each round begins."""
    return (result.rounds["time_s"] - result.rounds["duration_s"]).tolist()


def is_away(time_s):
    """Return whether the car of `away` is absent at the last whole second, which is when presence is checked."""
    return 10 < np.floor(time_s + 1e-6) < 900


@pytest.mark.oracle
def test_a_round_in_the_absence_has_the_device_neither_present_nor_selected(away):
    result = run(away)
    starts_s = begins_s(result)
    assert any(is_away(start_s) for start_s in starts_s)
    assert any(start_s > 900 for start_s in starts_s)
    for start_s, present, number in zip(starts_s, result.rounds["present"], result.rounds["round"], strict=True):
        selected = set(result.devices.loc[result.devices["round"] == number, "device"])
        assert present == 2 - is_away(start_s)
        assert selected == ({0} if is_away(start_s) else {0, 1})
    changes = result.events[result.events["kind"].isin(["arrival", "departure"])]
    assert changes[["time_s", "kind", "device"]].to_numpy().tolist() == [[11.0, "departure", 1], [900.0, "arrival", 1]]
    of_car = result.devices[result.devices["device"] == 1]
    assert of_car["status"].iloc[0] == "departed"  # at work when it leaves
    assert set(of_car["status"].iloc[1:]) == {"received"}


@pytest.mark.oracle
def test_an_absence_and_churn_together_let_a_device_be_present_in_neither(away, tmp_path):
    """A stay from 0 to 950 s in the file of stays leaves 900 to 950 s, and an absence by churn counts, too."""
    (tmp_path / "stays.csv").write_text("device,on_s,off_s\n0,0,inf\n1,0,5\n1,40,950\n")
    result = run(away, churn={"kind": "trace", "path": str(tmp_path / "stays.csv")})
    changes = result.events[result.events["kind"].isin(["arrival", "departure"]) & (result.events["device"] == 1)]
    assert changes[["time_s", "kind"]].to_numpy().tolist() == [
        [5.0, "departure"],
        [900.0, "arrival"],
        [950.0, "departure"],
    ]


@pytest.mark.oracle
def test_an_absence_ends_a_participation_between_cells_with_handover(away):
    """Two base stations with handover: the car departs in its absence, and never hands over while it is away."""
    cells = {"layout": "listed", "positions_m": [[-100, 0], [100, 0]], "radius_m": 400, "handover": {}}
    result = run(away, cells={**cells, "bs_height_m": 25})
    events = result.events[result.events["device"] == 1]
    away_s = events.loc[(events["time_s"] > 11.0) & (events["time_s"] < 900.0), "kind"]
    assert away_s.tolist() == []
    assert {"departure", "arrival"} <= set(events["kind"])


@pytest.mark.oracle
def test_trajectories_have_no_positions_in_an_absence(away, tmp_path):
    run(away, out=tmp_path / "out")
    tracks = pd.read_csv(tmp_path / "out" / "tracks.csv")
    times_s = tracks.loc[tracks["device"] == 1, "time_s"]
    assert not ((times_s > 10) & (times_s < 900)).any()
    assert (times_s <= 10).any()
    assert (times_s >= 900).any()
