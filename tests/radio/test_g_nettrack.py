"""Logs of G-NetTrack: links and positions of phones, one file each."""

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.mobility import Area

HEADER = "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI"
HEADER = f"{HEADER},DL_bitrate,UL_bitrate,State"
METRES_PER_DEGREE = np.pi / 180 * 6_371_008.8


def log(path, *rows):
    """Write a log with rows of seconds, longitude, latitude, SNR, and kbit/s down and up."""
    lines = [
        f"2019.12.14_10.16.{second:02d},{longitude},{latitude},3,B,12,5G,-97,-12,{snr},9,-,{down},{up},D"
        for second, longitude, latitude, snr, down, up in rows
    ]
    path.write_text("\n".join([HEADER, *lines, ""]))
    return path


ROWS = [(30, "-", "-", 5, "-", 10), (31, 0, 10, "-", 8000, 20), (32, 0.001, 10, 7, "-", "-"), (40, 0.001, 10, -3, 0, 0)]


def trace(path, **keys):
    radio = {"kind": "trace", "trace": {"kind": "g_nettrack", "path": str(path), **keys}}
    return load({"devices": {"count": 1}, "radio": radio}).radio.trace


def track(path, count, **keys):
    wide = {"radio": {"propagation": {"kind": "umi", "out_of_range": "clamp"}}}
    mobility = {"kind": "trace", "path": str(path), "format": "g_nettrack", **keys}
    return load({**wide, "mobility": mobility}).mobility.track(Area(10.0, 250.0), count, Streams(1))


def test_bitrates_are_kilobits_and_hold_where_none_was_measured(tmp_path):
    (recording,) = trace(log(tmp_path / "B.csv", *ROWS)).recordings()
    assert recording.down.begin_s.tolist() == recording.up.begin_s.tolist() == [0.0, 10.0]
    assert recording.down.rate.tolist() == [8e6, 0.0]
    assert recording.up.rate.tolist() == [2e4, 0.0]
    assert recording.down.end_s == 20.0
    # 4 Mbit in half a second, 80 Mbit until the rate is 0, and 16 Mbit more after that pause of 10 s.
    assert [recording.down.takes_s(0.0, bits) for bits in (4e6, 80e6, 96e6)] == pytest.approx([0.5, 10.0, 22.0])


def test_the_downlinks_snr_serves_both_directions(tmp_path):
    (recording,) = trace(log(tmp_path / "B.csv", *ROWS), values="snr").recordings()
    assert recording.down.begin_s.tolist() == [0.0, 2.0, 10.0]
    assert recording.down.snr_db.tolist() == recording.up.snr_db.tolist() == [5.0, 7.0, -3.0]


def test_positions_and_links_of_a_log_have_one_clock(tmp_path):
    """Although the phone's first position is known a second after its log begins: it moves from the next second on."""
    way = track(log(tmp_path / "B.csv", *ROWS), 1, origin=[10, 0]).path_m(0, np.array([0.0, 1.0, 1.5, 2.0, 9.0]))
    degree_m = METRES_PER_DEGREE * np.cos(np.radians(10))
    assert way[:, 0] == pytest.approx(np.array([0.0, 0.0, 0.0005, 0.001, 0.001]) * degree_m)
    assert way[:, 1] == pytest.approx(0.0, abs=1e-6)


def test_of_rows_in_one_second_the_last_counts_and_one_line_says_so(tmp_path):
    rows = [(1, 0, 10, 5, 100, 1), (2, 0, 10, 5, 200, 1), (2, 0, 10, 5, 900, 2), (3, 0, 10, 5, 300, 3)]
    for name in ("B_1.csv", "B_2.csv"):
        log(tmp_path / name, *rows)
    found = trace(tmp_path)
    assert [recording.down.rate.tolist() for recording in found.recordings()] == [[1e5, 9e5, 3e5]] * 2
    (note,) = found.notes()
    assert note.startswith(
        f"{tmp_path / 'B_1.csv'}:4: 1 sample repeats the time of its device's sample before (the first"
    )
    assert note.endswith(
        "at 2019.12.14_10.16.02): of samples at one time the last counts; the same in 1 other file of the folder"
    )


def test_a_folder_has_a_device_in_each_file_in_the_order_of_their_names(tmp_path):
    for number in (1, 2, 10):
        log(
            tmp_path / f"phone{number}.csv", (number, number / 1000, 10, 5, number, 1), (number + 1, 0.005, 10, 5, 7, 1)
        )
    (tmp_path / "README.md").write_text("about these files")
    (tmp_path / ".hidden.csv").write_text("none")
    recordings = trace(tmp_path).recordings()
    assert [recording.name for recording in recordings] == ["phone1", "phone2", "phone10"]
    assert [recording.down.rate[0] for recording in recordings] == [1e3, 2e3, 1e4]
    found = track(tmp_path, 3, origin=[10, 0])
    degree_m = METRES_PER_DEGREE * np.cos(np.radians(10))
    first = found.positions_m(np.arange(3), 0.0)
    assert first[:, 0] == pytest.approx(np.array([0.001, 0.002, 0.01]) * degree_m)
    assert found.on_map(np.arange(3), 0.0).all()
    together = found.positions_m(np.arange(3), 1.0)
    assert together[:, 0] == pytest.approx(0.005 * degree_m)


def test_folders_may_hold_movements_of_any_format(tmp_path):
    """A file with several devices names them after itself, and all files begin together."""
    (tmp_path / "b.gpx").write_text(
        '<gpx><trk><trkseg><trkpt lat="10" lon="0"><time>2024-05-01T12:00:05Z</time></trkpt></trkseg></trk>'
        '<trk><trkseg><trkpt lat="10" lon="0.001"><time>2024-05-01T12:00:09Z</time></trkpt></trkseg></trk></gpx>'
    )
    (tmp_path / "a.gpx").write_text(
        '<gpx><trk><trkseg><trkpt lat="10" lon="0.002"><time>2025-05-01T12:00:00Z</time></trkpt></trkseg></trk></gpx>'
    )
    found = track(tmp_path, 3, format=None, origin=[10, 0])
    degree_m = METRES_PER_DEGREE * np.cos(np.radians(10))
    assert found.positions_m(np.arange(3), 9.0)[:, 0] == pytest.approx(np.array([0.002, 0.0, 0.001]) * degree_m)
    assert found.on_map(np.arange(3), 2.0).tolist() == [True, True, False]


def test_a_wrong_file_of_a_folder_is_named(tmp_path):
    log(tmp_path / "a.csv", *ROWS)
    log(tmp_path / "b.csv", (1, 0, 95, 5, "fast", 1))
    with pytest.raises(InputError, match=r'b\.csv:2: DL_bitrate: must be a number, got "fast"'):
        trace(tmp_path)
    with pytest.raises(InputError, match=r"mobility\.path: .*b\.csv:2: device b: 0, 95 must be longitude and latitude"):
        track(tmp_path, 1)
    (tmp_path / "b.csv").write_text("Timestamp;Longitude\n1;2\n")
    with pytest.raises(InputError, match=r"b\.csv:1: has no columns downlink_bps, uplink_bps; it has"):
        trace(tmp_path)
    with pytest.raises(InputError, match=r"mobility\.path: .*b\.csv:1: has no column y_m; it has"):
        track(tmp_path, 1)


@pytest.mark.parametrize(
    ("header", "columns", "scale"),
    [
        ("device;Time;DL_bitrate;UL_bitrate;SNR", {"downlink_bps": "DL_bitrate"}, 1e3),  # known in kbit/s
        ("device;time_s;DL [bit/s];UL [bit/s];note", {"downlink_bps": "DL [bit/s]", "uplink_bps": "UL [bit/s]"}, 1.0),
    ],
)
def test_columns_of_links_are_known_or_mapped(tmp_path, header, columns, scale):
    (tmp_path / "links.csv").write_text(f"{header}\n0;0;8000,5;20;1\n0;2;7000;30;1\n")
    radio = {"kind": "trace", "trace": {"kind": "csv", "path": str(tmp_path / "links.csv"), "columns": columns}}
    (recording,) = load({"devices": {"count": 1}, "radio": radio}).radio.trace.recordings()
    assert recording.down.rate.tolist() == [8000.5 * scale, 7000 * scale]
    assert recording.up.rate.tolist() == [20 * scale, 30 * scale]


def test_a_log_without_a_value_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"B\.csv:1: has no rows with values"):
        trace(log(tmp_path / "B.csv", (1, 0, 10, "-", 1, 1)), values="snr")
