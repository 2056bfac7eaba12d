"""Files of data: rows of CSV, and errors with file and line."""

import csv
import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefl.core.data_files import NOT_UTF_8, NotReadable, csv_rows, faults_in, timed_rows
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.mobility import Area

ROWS = [(2, {"a": "1", "b": "x, y"}), (4, {"a": "2", "b": ""})]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", b'a,b\n1,"x, y"\n\n2,\n'),
        ("spreadsheet.csv", b'\xef\xbb\xbfa , b\r\n 1 ,"x, y"\r\n\r\n2, \r\n'),
        ("old.csv", b'a,b\r1,"x, y"\r\r2,\r'),
        ("packed.csv.gz", gzip.compress(b'a,b\n1,"x, y"\n\n2,\n', mtime=0)),
    ],
)
def test_rows_do_not_depend_on_how_a_program_writes_csv(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert [row[:2] for row in csv_rows(tmp_path / name, ["b", "a"])] == ROWS


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", ":1: has no column a; it has none"),
        (b"ab,c\n", ':1: has no column a (did you mean "ab"?); it has "ab", "c"'),
        (b"a,b,a\n", ":1: has the column a twice: remove one"),
        (b"a,b\n\n1\n", ":3: has 1 cells, the header has 2: write one for each column"),
        (b"a\n\xff\n", f":2: {NOT_UTF_8}"),
        (b"a\n" + b"1" * 2**18, ":2: has a cell of more than 131072 characters: is a quotation mark left open?"),
        (b"a\n" + b"1," * 2**20, ": cannot be read: has a line of more than 1 MiB"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path, content, fault):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused, faults_in(path):
        list(csv_rows(path, ["a"], ["b"]))
    assert str(refused.value) == f"{path}{fault}"


cells = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\r\n"), max_size=6)
# A first cell without a mark of comments, and not empty: a row of empty cells only may stand at the end alone.
first_cells = st.text("abc0123456789 .;\"'\t", min_size=1, max_size=6).filter(str.strip)


@pytest.mark.oracle
@settings(max_examples=300, deadline=None)
@given(rows=st.lists(st.tuples(first_cells, cells, cells), max_size=6), end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_rows_that_pythons_writer_writes_are_read(tmp_path_factory, rows, end):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator=end).writerows([("a", "b", "c"), *rows])
    read = [tuple(row.cells.values()) for row in csv_rows(path, ["a"])]
    assert read == [tuple(cell.strip() for cell in row) for row in rows]


@pytest.mark.oracle
@settings(max_examples=300, deadline=None)
@given(content=st.binary(max_size=60) | st.text("a,b\"'#;\r\n \t1", max_size=40).map(str.encode))
def test_any_bytes_are_rows_or_one_fault(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    path.write_bytes(b"a,b\n" + content)
    try:
        with faults_in(path):
            rows = list(csv_rows(path, ["a"], ["b"]))
    except InputError as error:
        (line,) = error.faults
        assert line.isprintable()
    else:
        assert all(set(row.cells) == {"a", "b"} for row in rows)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: cannot be read: No such file"), faults_in(tmp_path / "none.csv"):
        list(csv_rows(tmp_path / "none.csv"))


def test_fault_of_a_row_gets_its_line():
    with pytest.raises(InputError, match=r"^data\.csv:7: is late$"), faults_in("data.csv"):
        raise NotReadable("is late", 7)


def seconds(folder, *cells, header="t"):
    """Return the column `t` of a file, in seconds."""
    path = folder / "times.csv"
    path.write_text("\n".join([header, *cells]) + "\n")
    with faults_in("times.csv"):
        return [row.cells["t"] for row in timed_rows(path, ["t"], ["t"])]


def test_timestamps_count_from_the_earliest_of_the_file(tmp_path):
    times = ["2024-05-01T12:00:01Z", "2024-05-01T12:00:00Z", "2024-05-01T14:00:00.25+02:00", "2024-05-02T12:00:00Z"]
    assert list(map(float, seconds(tmp_path, *times))) == [1.0, 0.0, 0.25, 86400.0]
    without_zone = ["2024-03-31 02:30:00", "2024-03-31 01:30:00"]  # an hour that Berlin's clocks leave out
    assert list(map(float, seconds(tmp_path, *without_zone))) == [3600.0, 0.0]
    assert list(map(float, seconds(tmp_path, "2024-05-01T12:00:00", "2024-05-01T14:00:01+02:00"))) == [0.0, 1.0]
    assert list(map(float, seconds(tmp_path, "2024-02-28", "2024-03-01", "inf"))) == [0.0, 172800.0, float("inf")]


def test_seconds_stay_as_they_are_written(tmp_path):
    assert seconds(tmp_path, "20240501", "1e3", "-0.10", "here") == ["20240501", "1e3", "-0.10", "here"]


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        (
            ["0", "2024-05-01"],
            'times.csv:3: t: "2024-05-01" is a timestamp, and the rows above have seconds: write one form',
        ),
        (
            ["2024-05-01", "3"],
            "times.csv:3: t: must be a timestamp such as 2024-05-01T12:00:00Z, as the file's first one, got",
        ),
        (["2024-13-01"], "times.csv:2: t: must be a timestamp such as"),
    ],
)
def test_mixed_forms_of_times_are_refused_in_a_line(tmp_path, cells, fault):
    with pytest.raises(InputError) as refused:
        seconds(tmp_path, *cells)
    (line,) = refused.value.faults
    assert line.startswith(fault)


STAMPS = ("2024-05-01T23:59:50Z", "2024-05-02T00:00:00Z", "2024-05-02T00:00:05Z")  # 0, 10 and 15 s


def test_movement_links_and_stays_take_timestamps_as_seconds(tmp_path):
    """The same files with seconds and with timestamps describe the same world."""
    tables = {
        "moves": "time_s,device,x_m,y_m\n{0},a,20,0\n{1},a,30,0\n{2},a,30,9\n",
        "links": "device,time_s,downlink_bps,uplink_bps\nx,{0},1e6,1e6\nx,{1},2e6,2e6\nx,{2},3e6,1e6\n",
        "stays": "device,on_s,off_s\n1,{1},inf\n0,{0},{2}\n",
    }
    wide = {"radio": {"propagation": {"kind": "umi", "out_of_range": "clamp"}}}
    found = []
    for times in (("0", "10", "15"), STAMPS):
        for name, text in tables.items():
            (tmp_path / f"{name}.csv").write_text(text.format(*times))
        trace = {"kind": "csv", "path": str(tmp_path / "links.csv"), "assign": "pool"}
        (recording,) = load({"radio": {"kind": "trace", "trace": trace}}).radio.trace.recordings()
        mobility = load({**wide, "mobility": {"kind": "trace", "path": str(tmp_path / "moves.csv")}}).mobility
        track = mobility.track(Area(10.0, 250.0), 1, Streams(1))
        churn = load({"devices": {"count": 2}, "churn": {"kind": "trace", "path": str(tmp_path / "stays.csv")}}).churn
        moments_s = np.array([0.0, 4.0, 12.0, 15.0])
        found.append(
            (
                track.path_m(0, moments_s).tolist(),
                recording.down.begin_s.tolist(),
                [(stay.on_s, stay.off_s) for stay in churn._stays],
            )
        )
    assert found[0] == found[1]
    assert found[0][2] == [(0.0, 15.0), (10.0, float("inf"))]
