"""Traces of movement, links and stays as other programs and spreadsheets write them, and what messages advise."""

import math
import os

import numpy as np
import pytest

import edgefl
from edgefl.core import sample_times
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.mobility import Area

AREA = Area(10.0, 250.0)
RADIO = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}


def track_of(path, count, **keys):
    mobility = load({"mobility": {"kind": "trace", "path": str(path), **keys}, "radio": RADIO}).mobility
    return mobility.track(AREA, count, Streams(1))


@pytest.fixture
def warned(caplog):
    """The warnings so far, each once."""
    sample_times.warn_once.cache_clear()
    return lambda: [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


# Pedestrians


def obsmat(path, frames_per_s, speed_mps=1.25, *, velocity=True):
    """A pedestrian who walks along x, marked every 0.4 s in a video of so many frames a second."""
    lines = []
    for number in range(20):
        time_s = 0.4 * number
        columns = [780 + time_s * frames_per_s, 1, 20 + speed_mps * time_s, 0, 3, speed_mps, 0, 0]
        if not velocity:
            columns = [columns[place] for place in (0, 1, 2, 4)]
        lines.append("\t".join(f"{value:.7e}" for value in columns))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_frames_at_another_rate_than_velocities_say_are_mentioned_with_the_time_scale(tmp_path, warned):
    """ETH's sequence seq_eth counts 15 frames a second: 6 in 0.4 s."""
    path = obsmat(tmp_path / "obsmat.txt", 15)
    one = np.array([0])
    for _ in range(2):
        assert track_of(path, 1).speeds_mps(one, 1.0) == pytest.approx([1.25 * 25 / 15])
    (line,) = warned()
    assert line.endswith("its devices move 1.667 m for each metre by the speeds in the file: if the speeds are right, "
                         "write time_scale: 1.667")  # fmt: skip
    sample_times.warn_once.cache_clear()
    assert track_of(path, 1, time_scale=1.667).speeds_mps(one, 1.0) == pytest.approx([1.25], rel=1e-3)
    assert len(warned()) == 1


def test_pedestrians_without_velocities_are_read(tmp_path, warned):
    """Files for the prediction of trajectories have frame, person, x, y."""
    whole = track_of(obsmat(tmp_path / "whole.txt", 25), 1)
    short = track_of(obsmat(tmp_path / "short.txt", 25, velocity=False), 1)
    for time_s in (0.0, 0.2, 3.3, 99.0):
        assert short.positions_m(np.array([0]), time_s) == pytest.approx(whole.positions_m(np.array([0]), time_s))
    assert not warned()


# Time steps of SUMO, through a run


STAYS_S = {
    "through": [(0, 200)],
    "early": [(20, 60)],
    "gap": [(0, 30), (70, 200)],
    "late": [(90, 200)],
    "short": [(50, 52)],
}


@pytest.mark.oracle
@pytest.mark.parametrize(("at_end", "empty_steps"), [("hold", 0), ("leave", 20), ("loop", 20)])
def test_seconds_of_presence_in_a_run_are_the_time_steps_of_the_file(tmp_path, at_end, empty_steps):
    """Arrivals and departures in events, against the file; with steps of 1 s, each step stands for a second."""
    length = 201 + empty_steps
    there = {name: [any(begin <= step <= end for begin, end in stays) for step in range(length)]
             for name, stays in STAYS_S.items()}  # fmt: skip
    lines = ["<fcd-export>"]
    for step in range(length):
        cars = [f'<vehicle id="{name}" x="60" y="{step}"/>' for name in there if there[name][step]]
        lines.append(f'<timestep time="{step}">{"".join(cars)}</timestep>')
    path = tmp_path / "t.xml"
    path.write_text("\n".join([*lines, "</fcd-export>"]))
    keys = {"rounds": 2000, "devices": {"count": 5}, "radio": RADIO, "stop": {"time_s": 300.0}}
    keys["server"] = {"policy": "deadline", "deadline_s": 3, "participants": 2}
    keys["model"] = {"kind": "logistic", "cost": {"parameters": 20_000, "flops_per_parameter": 3000}}
    keys["mobility"] = {"kind": "trace", "path": str(path), "at_end": at_end}
    if at_end == "leave":
        keys["stop"] = {"time_s": 200.0}
    run = edgefl.run(keys, train=False)
    end_s = int(run.rounds["time_s"].max())
    assert end_s >= 200
    changes = run.events[run.events["kind"].isin(["arrival", "departure"])]
    period = length - 1  # of the file, whose last time is its first one, again
    names = ["gap", "through", "early", "short", "late"]  # by first sample, then by name
    for device, name in enumerate(names):
        present = np.zeros(end_s, dtype=bool)
        present[:] = there[name][0]
        for _, change in changes[changes["device"] == device].iterrows():
            present[int(change["time_s"]) :] = change["kind"] == "arrival"
        steps = np.arange(end_s)
        steps = steps % period if at_end == "loop" else np.minimum(steps, period)
        assert present.tolist() == np.array(there[name])[steps].tolist()


# Movements of ns-2


NODES = "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n$node_(1) set X_ 50\n$node_(1) set Y_ 0\n"


def test_nodes_of_ns2_that_are_switched_off_are_mentioned_once(tmp_path, warned):
    path = tmp_path / "t.tcl"
    path.write_text(NODES + '$ns at 0.0 "$node_(1) off" \n$ns at 660.0 "$node_(1) on" \n$ns at 9.0 "$node_(0) off"\n')
    for _ in range(2):
        assert track_of(path, 2).on_map(np.arange(2), 5.0).all()
    (line,) = warned()
    assert line.startswith(f"warning: mobility.path: {path}:5: switches a node off")
    assert line.endswith("write their stays as a trace of churn")


def test_spaces_between_the_quotation_marks_of_ns2_count_for_nothing(tmp_path, warned):
    """As in public scripts, which also name the simulator $ns."""
    path = tmp_path / "t.tcl"
    path.write_text(NODES + '$ns initial_node_pos $node_(0) 20\n$ns at 1.0 " $node_(0) setdest 20.0 0 2.0 " \n')
    assert track_of(path, 2).positions_m(np.array([0]), 6.0).tolist() == [[10, 0]]
    assert not warned()


# Messages


GPX = '<gpx version="1.1">{}</gpx>'
BAD_TRACES = {
    "commas between the columns": ("t.txt", "780,1,8.46,3.59\n", ":1: has 1 column between spaces; .*: write other"),
    "SUMO's netstate": (
        "t.xml",
        '<netstate>\n<timestep time="0"><edge id="e"><lane id="e_0"><vehicle id="a" pos="5.10"/></lane></edge>',
        ":1: has no coordinates, as --netstate-dump writes it: use SUMO's option --fcd-output",
    ),
    "Strava writes a planned route as a track without times": (
        "t.gpx",
        GPX.format('<trk><trkseg><trkpt lat="48" lon="11"><ele>500</ele></trkpt></trkseg></trk>'),
        ":1: <trkpt> has no <time>, and needs one such as 2024-05-01T12:00:00Z: export the recorded activity",
    ),
    "a route": ("t.gpx", GPX.format('<rte><rtept lat="48" lon="11"/></rte>'), ": has points of <rtept>, which are pl"),
    "waypoints": ("t.gpx", GPX.format('<wpt lat="48" lon="11"/><trk/>'), ": has points of <wpt>, which are planned"),
    "two runs of SUMO in one file": (
        "t.xml",
        '<fcd-export>\n<timestep time="0"/></fcd-export>\n<fcd-export></fcd-export>',
        ":3: holds more after the end of its outermost element, as if two files were joined: split it",
    ),
    "milliseconds since 1970": (
        "t.csv",
        "time_s,device,x_m,y_m\n1714564800000,a,1,2\n",
        ":2: device a: a time must be a number of seconds up to 1e.12, got 1714564800000: divide by 1000 if the times",
    ),
    "degrees": (
        "t.csv",
        "time_s,device,y_m,x_m\n0,a,48.0,11\n9,a,48.1,11\n",
        ": its devices move, but within 0.1 m in all: if it is in degrees, write coordinates: lon_lat",
    ),
    "dates as spreadsheets show them": (
        "t.csv",
        "time_s,device,x_m,y_m\n01/05/2024 12:00:00,a,1,1\n",
        ":2: time_s: must be seconds, or a timestamp such as 2024-05-01T12:00:00Z, got",
    ),
    "San Francisco's taxis": (
        "t.txt",
        "37.75 -122.39 0 1213084687 x\n",
        ":1: has 5 columns between spaces; .*: write other traces",
    ),
}


@pytest.mark.parametrize("case", BAD_TRACES)
def test_messages_about_traces_say_what_to_write(tmp_path, case):
    name, content, message = BAD_TRACES[case]
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=rf"^mobility.path: .*{name}{message}"):
        track_of(tmp_path / name, 1)


@pytest.mark.parametrize(
    ("header", "keys"),
    [
        ("time_s;device;y_m;x_m", {"coordinates": "lon_lat"}),
        ("time_s;device;Lat;Lon", {}),
        ("t;ue;north;LON", {"columns": {"time_s": "t", "device": "ue", "y_m": "north"}, "coordinates": "lon_lat"}),
        ("Time;MS;All-Latitude;All-Longitude", {"format": "drive_test"}),
    ],
)
def test_degrees_are_read_as_the_message_or_the_names_of_columns_say(tmp_path, header, keys):
    (tmp_path / "t.csv").write_text(f"{header}\n12:00:01,5;a;;\n12:00:01,5;a;48,0;11\n12:00:11,5;a;48,001;11\n")
    track = track_of(tmp_path / "t.csv", 1, **keys)
    before, after = (track.positions_m(np.array([0]), time_s)[0] for time_s in (0.0, 10.0))
    assert after - before == pytest.approx([0, math.radians(0.001) * 6_371_008.8])  # northward


@pytest.mark.parametrize("kind", ["mobility", "radio"])
def test_a_folder_of_folders_names_one_of_them(tmp_path, kind):
    (tmp_path / "Static").mkdir()
    (tmp_path / "Driving").mkdir()
    message = r"holds no files that end in .csv \(or with .gz\), but folders, such as Driving: name one"
    keys = {"mobility": {"kind": "trace", "path": str(tmp_path), "format": "g_nettrack"}, "radio": RADIO}
    if kind == "radio":
        keys = {"radio": {"kind": "trace", "trace": {"kind": "g_nettrack", "path": str(tmp_path)}}}
    with pytest.raises(InputError, match=message):
        edgefl.run({**keys, "rounds": 1, "devices": {"count": 1}, "server": {"participants": 1}}, train=False)


@pytest.mark.skipif(os.sep != "/", reason="backslashes are between folders there")
def test_backslashes_between_folders_are_mentioned(tmp_path):
    message = r"no such file or folder as .*: write / between folders, as everywhere but on Windows"
    with pytest.raises(InputError, match=message):
        edgefl.run({"mobility": {"kind": "trace", "path": f"{tmp_path}\\t.csv"}}, train=False)


@pytest.mark.oracle
def test_short_absences_are_seen_by_frequent_checks(tmp_path):
    """A teleport of half a second between two whole seconds."""
    path = tmp_path / "t.csv"
    steps = [step / 10 for step in range(20) if not 11 < step < 19]
    path.write_text("time_s,device,x_m,y_m\n" + "".join(f"{time_s},a,50,{time_s}\n" for time_s in steps))
    keys = {"rounds": 60, "devices": {"count": 1}, "server": {"participants": 1}}  # of 0.03 s
    keys["mobility"] = {"kind": "trace", "path": str(path), "gap_s": 0.3}
    keys["radio"] = RADIO
    assert edgefl.run(keys, train=False).rounds["departures"].sum() == 0
    keys["churn"] = {"kind": "coverage", "check_s": 0.1}
    assert edgefl.run(keys, train=False).rounds["departures"].sum() == 1


# Links and stays


def link_run(tmp_path, second):
    path = tmp_path / "links.csv"
    path.write_text(f"device,time_s,downlink_bps,uplink_bps\n0,0,1e6,1e6\n0,1,{second}\n0,2,1e6,1e6\n0,10,1e6,1e6\n")
    model = {"kind": "logistic", "cost": {"parameters": 62_500, "flops_per_parameter": 0}}  # 2 Mbit each way
    keys = {"rounds": 1, "devices": {"count": 1}, "server": {"participants": 1}, "model": model}
    return edgefl.run({**keys, "radio": {"kind": "trace", "trace": {"kind": "csv", "path": str(path)}}}, train=False)


@pytest.mark.parametrize("second", [",", "-,-", "nan,nan", "N/A,1e6"])
def test_an_empty_rate_is_refused_with_what_to_write(tmp_path, second):
    remedy = "write 0 where nothing could be sent, or leave the row out"
    with pytest.raises(InputError, match=rf"links.csv:3: downlink_bps: must be a number, got .*: {remedy}"):
        link_run(tmp_path, second)


def test_a_rate_of_0_stops_a_transfer_for_its_time_as_the_message_advises(tmp_path):
    """2 Mbit at 1 Mbit/s, with a second of 0 in between."""
    assert link_run(tmp_path, "0,0").devices["download_s"].tolist() == pytest.approx([3.0])
    assert link_run(tmp_path, "1e6,1e6").devices["download_s"].tolist() == pytest.approx([2.0])


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        ("downlink_bps,uplink_bps", "8.2,1.8", "rates is 5 bit/s: are they in Mbit/s? Multiply them by 1e6"),
        ("downlink_bps,uplink_bps", "8200,8200", "rates is 8200 bit/s: are they in kbit/s? Multiply them by 1e3"),
        ("downlink_bps,uplink_bps", "8.2e10,1.8e10", "rates is 5e+10 bit/s: were they in bit/s before"),
        ("downlink_bps,uplink_bps", "8.2e6,1.5e6", ""),
        ("downlink_bps,uplink_bps", "8.2e6,5", ""),
        ("downlink_snr_db,uplink_snr_db", "-95,-101", "no SNR is above -95 dB: are these received powers in dBm?"),
        ("downlink_snr_db,uplink_snr_db", "-9,-12", ""),
    ],
)
def test_values_in_other_units_are_mentioned(tmp_path, columns, row, message):
    path = tmp_path / "links.csv"
    path.write_text(f"device,time_s,{columns}\n0,0,{row}\n")
    radio = {"kind": "trace", "trace": {"kind": "csv", "path": str(path)}}
    notes = load({"devices": {"count": 1}, "server": {"participants": 1}, "radio": radio}).radio.trace.notes()
    assert [message in note for note in notes] == [True] * bool(message)


def test_a_throughput_log_instead_of_mahimahi_is_refused(tmp_path):
    (tmp_path / "log").write_text("0.0 2.31\n0.5 3.31\n")
    files = [{"downlink": str(tmp_path / "log"), "uplink": str(tmp_path / "log")}]
    trace = {"kind": "mahimahi", "files": files}
    with pytest.raises(InputError, match=r'log:1: must be a whole .*"0.0 2.31": for rates over time, write a CSV file'):
        load({"devices": {"count": 1}, "radio": {"kind": "trace", "trace": trace}}).radio.trace.recordings()


def test_stays_in_seconds_since_1970_are_mentioned_and_timestamps_count_from_the_first(tmp_path, warned):
    path = tmp_path / "stays.csv"
    keys = {"devices": {"count": 1}, "churn": {"kind": "trace", "path": str(path)}}

    def arrival_s(stay):
        path.write_text(f"device,on_s,off_s\n0,{stay}\n")
        presence = load(keys).churn.presence(1, np.zeros(1, dtype=np.int64), 10, Streams(1))
        return presence.arrivals(0.0)[0] if not presence.present(0.0, 0).size else 0.0

    assert arrival_s("1714564800,1714568400") == 1714564800
    (line,) = warned()
    assert line == (
        f"warning: churn.path: {path}:2: no device arrives in the run's first 1714564800 s: "
        "subtract them from the file's times, or write timestamps"
    )
    assert arrival_s("2024-05-01T12:00:00Z,2024-05-01T13:00:00Z") == 0
    assert arrival_s("0,3600") == 0
    assert len(warned()) == 1


def test_a_movement_that_is_over_before_the_run_is_mentioned(tmp_path, warned):
    path = tmp_path / "t.csv"
    path.write_text("time_s,device,x_m,y_m\n0,a,50,0\n59,a,90,0\n")
    for at_end in ("loop", "leave"):
        track_of(path, 1, time_offset_s=-100, at_end=at_end)
    track_of(path, 1, time_offset_s=-30)
    assert not warned()
    track_of(path, 1, time_offset_s=-100)
    (line,) = warned()
    assert "the file ends 41 s before the run begins, so its devices stand at their last samples" in line


def test_published_stays_without_their_format_name_the_key(tmp_path):
    path = tmp_path / "state_traces.json"
    path.write_text('{"0": {"messages": "2020-01-02 00:00:00\\tscreen_lock"}}')
    with pytest.raises(InputError, match=r"json: is JSON, and no table: name its format, or save it as CSV"):
        load({"devices": {"count": 2}, "churn": {"kind": "trace", "path": str(path)}})


def test_a_stay_without_an_end_needs_inf(tmp_path):
    path = tmp_path / "stays.csv"
    path.write_text("device,on_s,off_s\n0,0,100\n1,20,\n")
    with pytest.raises(
        InputError, match=r'stays.csv:3: has no off_s, got "1,20,": write inf for a stay without an end'
    ):
        load({"devices": {"count": 2}, "churn": {"kind": "trace", "path": str(path)}})
    path.write_text("device,on_s,off_s\n0,0,100\n1,20,inf\n")
    load({"devices": {"count": 2}, "churn": {"kind": "trace", "path": str(path)}})
