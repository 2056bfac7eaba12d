"""Files of data: rows of CSV, and errors with file and line."""

import gzip

import pytest

from edgefl.core.data_files import CsvRow, NotReadable, csv_rows, faults_in
from edgefl.core.errors import InputError

ROWS = [CsvRow(2, {"a": "1", "b": "x, y"}), CsvRow(4, {"a": "2", "b": ""})]


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
    assert list(csv_rows(tmp_path / name, ["b", "a"])) == ROWS


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", ":1: has no column a; must have a, got nothing"),
        (b"ab,c\n", ':1: has no column a (did you mean "ab"?); must have a, got "ab,c"'),
        (b"a,b,a\n", ":1: has the column a twice: remove one"),
        (b"a,b,b\n", ":1: has the column b twice: remove one"),
        (b"a,b\n\n1\n", ":3: has 1 cells, the header has 2: write one for each column"),
        (b"a\n\xff\n", ": is not a CSV file in UTF-8"),
        (b"a\n" + b"1" * 2**18, ": is not a CSV file in UTF-8"),
        (b"a\n" + b"1," * 2**20, ": cannot be read: has a line of more than 1 MiB"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path, content, fault):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused, faults_in(path):
        list(csv_rows(path, ["a"], ["b"]))
    assert str(refused.value) == f"{path}{fault}"


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: cannot be read: No such file"), faults_in(tmp_path / "none.csv"):
        list(csv_rows(tmp_path / "none.csv"))


def test_fault_of_a_row_gets_its_line():
    with pytest.raises(InputError, match=r"^data\.csv:7: is late$"), faults_in("data.csv"):
        raise NotReadable("is late", 7)
