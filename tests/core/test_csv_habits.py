"""Each reader of tables of users takes what spreadsheets and programs write, or says what to change."""

import ast
import gzip
from pathlib import Path

import numpy as np
import pytest

import edgefl
from edgefl.calibration.log import read_counts, read_log
from edgefl.core.distributions import read_column
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.measured_times import read_measured
from edgefl.world.mobility import Area

PACKAGE = Path(edgefl.__file__).parent
READS_OTHERWISE = {
    "api.py",  # edgefl's own results
    "core/words.py",  # tables of edgefl itself
    "learning/datasets/ag_news.py",  # a published file without a header
    "learning/datasets/movielens.py",  # a published file
}
READS_CSV = {"reader", "DictReader", "Sniffer", "read_csv", "read_table", "loadtxt", "genfromtxt", "fromregex"}


def movement(path):
    wide = {"radio": {"propagation": {"kind": "umi", "out_of_range": "clamp"}}}
    mobility = load({**wide, "mobility": {"kind": "trace", "path": str(path), "format": "csv"}}).mobility
    return mobility.track(Area(10.0, 250.0), 2, Streams(1)).path_m(1, np.array([0.0, 2.5, 9.0])).tolist()


def links(path):
    trace = {"kind": "csv", "path": str(path)}
    recordings = load({"devices": {"count": 2}, "radio": {"kind": "trace", "trace": trace}}).radio.trace.recordings()
    return [(one.down.begin_s.tolist(), one.up.rate.tolist()) for one in recordings]


def stays(path):
    churn = load({"devices": {"count": 2}, "churn": {"kind": "trace", "path": str(path)}}).churn
    return [(stay.device, stay.on_s, stay.off_s) for stay in churn._stays]


def column(path):
    return read_column(path, "cpu_hz").tolist()


def curves(path):
    errors = {"kind": "bler", "curves": str(path)}
    radio = load({"radio": {"rate": "mcs", "transfer": "slots", "errors": errors}}).radio
    return radio.errors.link_adaptation(radio.rate).error_rates.tolist()


def measured(path):
    return read_measured(path)


def log(path):
    return [(row.device, row.phase, row.seconds, row.bytes, row.steps) for row in read_log(path)]


def counts(path):
    return read_counts(path)


# A reader, and a table for it: the header, a row without decimals in its last column, and more rows.
READERS = {
    "movement": (movement, "time_s,device,y_m,x_m", ["0,a,20.5,0.5", "0,b,0,40.5", "5,b,1.5,60"]),
    "links": (links, "device,time_s,downlink_bps,uplink_bps", ["0,0.5,1e6,2e6", "1,0.5,1e6,1500.5", "0,1.5,3e6,7"]),
    "stays": (stays, "device,on_s,off_s", ["0,0.5,inf", "1,10,20.5", "1,30.25,40"]),
    "column": (column, "name,cpu_hz", ["pi,1.5e9", "phone,2200000000.5"]),
    "curves": (curves, "mcs,snr_db,bler", ["0,-8.5,1", "0,-5.5,0.5", "0,-2.5,0.001", "5,0.5,0.9", "5,4.5,0.001"]),
    "measured": (measured, "device,network,batch_size,step_s", ["pi,cnn,16,0.5", "pi,cnn,32,1"]),
    "log": (log, "device,phase,bytes,seconds", ["pi/a,upload,1000,0.5", "pi/b,download,10,1.25", "pi/a,upload,5,60"]),
    "counts": (
        counts,
        "network,macs,depthwise_macs,matmul_macs,conv1x1_macs,convkxk_macs,activation_bytes,conv_groups",
        ["mlp,10.5,0,10.5,0,0,40,0", "cnn,30,0,10,0,20,80,2"],
    ),
}


def text(header, rows, end="\n", separator=","):
    return end.join(line.replace(",", separator) for line in (header, *rows)) + end


def quoted(line):
    return ",".join(f'"{cell}"' for cell in line.split(","))


# How the same table is written in another way.
SAME = {
    "byte_order_mark": lambda h, r: b"\xef\xbb\xbf" + text(h, r).encode(),
    "spaces_after_commas": lambda h, r: text(h, r, separator=", ").encode(),
    "spaces_before_commas": lambda h, r: text(h, r, separator=" ,").encode(),
    "quoted_cells": lambda h, r: text(quoted(h), map(quoted, r)).encode(),
    "spaces_before_quotes": lambda h, r: text(quoted(h), map(quoted, r), separator=", ").encode(),
    "spaces_after_quotes": lambda h, r: text(quoted(h), map(quoted, r), separator=" , ").encode(),
    "lines_of_windows": lambda h, r: text(h, r, end="\r\n").encode(),
    "lines_of_old_macs": lambda h, r: text(h, r, end="\r").encode(),
    "no_end_of_the_last_line": lambda h, r: text(h, r).strip().encode(),
    "blank_lines_between": lambda h, r: text(h, r, end="\n\n").encode(),
    "a_last_blank_line": lambda h, r: (text(h, r) + "\n").encode(),
    "last_lines_of_spaces": lambda h, r: (text(h, r) + "  \n\t\n").encode(),
    "last_lines_of_commas": lambda h, r: (text(h, r) + 2 * (h.count(",") * "," + "\r\n")).encode(),
    "fewer_commas_at_the_end": lambda h, r: (text(h, r) + ",\n").encode(),
    "commas_at_the_end_of_lines": lambda h, r: text(h, r, end=",\n").encode(),
    "commas_at_the_end_of_rows": lambda h, r: (h + "\n" + text(r[0], r[1:], end=",\n")).encode(),
    "a_comma_at_the_end_of_the_header": lambda h, r: (h + ",\n" + text(r[0], r[1:])).encode(),
    "further_columns": lambda h, r: text(f"id,{h},note", [f'{i},{row},"a, b"' for i, row in enumerate(r)]).encode(),
    "an_index_as_of_pandas": lambda h, r: text(f",{h}", [f"{i},{row}" for i, row in enumerate(r)]).encode(),
    "columns_backwards": lambda h, r: text(backwards(h), map(backwards, r)).encode(),
    "comments_at_the_top": lambda h, r: ("# made by hand, 2024\n#\n\n" + text(h, r)).encode(),
    "header_as_a_comment": lambda h, r: ("# made by NumPy\n# " + text(h, r)).encode(),
    "blank_lines_at_the_top": lambda h, r: ("\n  \r\n" + text(h, r)).encode(),
    "semicolons": lambda h, r: text(h, r, separator=";").encode(),
    "tabs": lambda h, r: text(h, r, separator="\t").encode(),
    "quoted_semicolons": lambda h, r: text(quoted(h), map(quoted, r), separator=";").encode(),
    "semicolons_for_excel": lambda h, r: ("sep=;\r\n" + text(h, r, separator=";")).encode(),
    "german_spreadsheet": lambda h, r: text(h, r, separator=";").replace(".", ",").encode(),
    "separator_named_for_excel": lambda h, r: ("sep=,\r\n" + text(h, r)).encode(),
    "further_column_in_utf_8": lambda h, r: text(f"{h},Maß", [f"{row},Öl" for row in r]).encode(),
    "gzip": lambda h, r: gzip.compress(text(h, r).encode(), mtime=0),
}


def backwards(line):
    return ",".join(reversed(line.split(",")))


def with_last(row, cell):
    return f"{row.rpartition(',')[0]},{cell}"


# What cannot be read, and what is said about it.
ENCODED = "is not in UTF-8: save it as UTF-8"
TOLD = {
    "bars": (lambda h, r: text(h, r, separator=" | ").encode(), ":1: has no column"),
    "separated_by_spaces": (lambda h, r: text(h, r, separator="  ").encode(), ": write ',' between columns"),
    "quoted_decimal_commas": (
        lambda h, r: text(h, [r[0], with_last(r[1], '"3,5"')]).encode(),
        ':3: {last}: "3,5" has a comma: write 3.5',
    ),
    "thousands": (
        lambda h, r: text(h, [r[0], with_last(r[1], '"1,000"')]).encode(),
        ':3: {last}: "1,000" has a comma: write 1.000, or 1000 if thousands are meant',
    ),
    "decimal_commas": (
        lambda h, r: text(h, [r[0], with_last(r[1], "3,5")]).encode(),
        ":3: has {more} cells, the header has {columns}: write one for each column, and '.' for decimals",
    ),
    "utf_16": (lambda h, r: text(h, r).encode("utf-16"), f": {ENCODED}"),
    "utf_16_without_a_mark": (lambda h, r: text(h, r).encode("utf-16-be"), f": {ENCODED}"),
    "windows_1252": (
        lambda h, r: text(f"{h},note", [f"{row},Köln" for row in r]).encode("cp1252"),
        f":2: {ENCODED}",
    ),
    "gzip_by_another_name": (lambda h, r: gzip.compress(text(h, r).encode()), ": is packed by gzip: let its name end"),
    "spreadsheet": (lambda *_: b"PK\x03\x04" + bytes(20), ": is a spreadsheet or an archive: save it as CSV"),
    "an_empty_row_between": (
        lambda h, r: text(h, [r[0], h.count(",") * ",", *r[1:]]).encode(),
        ":3: has only empty cells, and rows follow: delete it, or fill it in",
    ),
    "a_row_as_a_comment": (
        lambda h, r: text(h, [r[0], f"#{r[1]}", *r[2:]]).encode(),
        ":3: is a comment, which may only stand above the header",
    ),
    "an_open_quotation_mark": (
        lambda h, r: text(f"{h},note", [f'{r[0]},"open', *(f"{row}," for row in r[1:])]).encode(),
        ":{end}: the file ends between quotation marks: one is left open",
    ),
}


@pytest.mark.parametrize("habit", SAME)
def test_habits_of_programs_change_nothing(tmp_path, habit):
    assert_same(tmp_path, "stays", habit)


@pytest.mark.parametrize("habit", TOLD)
def test_other_files_are_refused_in_a_line_with_a_remedy(tmp_path, habit):
    assert_told(tmp_path, "stays", habit)


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_takes_and_refuses_the_same(tmp_path, reader):
    for habit in ("byte_order_mark", "further_columns", "columns_backwards", "gzip", "german_spreadsheet"):
        assert_same(tmp_path, reader, habit)
    for habit in ("quoted_decimal_commas", "an_empty_row_between", "utf_16"):
        assert_told(tmp_path, reader, habit)


def assert_same(folder, reader, habit):
    """Check that a reader finds the same in a table that is written in another way."""
    read, header, rows = READERS[reader]
    plain = folder / "plain.csv"
    plain.write_text(text(header, rows))
    written = folder / ("table.csv.gz" if habit == "gzip" else "table.csv")
    written.write_bytes(SAME[habit](header, rows))
    assert read(written) == read(plain)


def assert_told(folder, reader, habit):
    """Check that a reader refuses a file in one line, which says what to write."""
    read, header, rows = READERS[reader]
    path = folder / "table.csv"
    make, fault = TOLD[habit]
    path.write_bytes(make(header, rows))
    columns = header.count(",") + 1
    expected = fault.format(columns=columns, more=columns + 1, last=header.rpartition(",")[2], end=len(rows) + 1)
    with pytest.raises(InputError) as refused:
        read(path)
    (line,) = refused.value.faults
    assert f"{path}:" in line
    assert expected in line


def reads_csv(tree):
    """Return whether a module calls a reader of CSV by its name in csv, NumPy or pandas."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    owned = {
        (call.value.id, call.attr)
        for call in calls
        if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name)
    }
    return any(owner in {"csv", "np", "numpy", "pd", "pandas"} and name in READS_CSV for owner, name in owned)


@pytest.mark.oracle
def test_one_module_reads_tables_of_users():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("results/") and reads_csv(ast.parse(path.read_text(encoding="utf-8"))):
            found.add(name)
    assert found == READS_OTHERWISE | {"core/data_files.py"}
