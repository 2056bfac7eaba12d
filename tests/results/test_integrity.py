"""Damaged or edited files of a result folder are named, in one line each."""

import io
import json
import shutil
from pathlib import Path

import pytest
from resume_cases import BASE

import edgefl
from edgefl.core.errors import InputError
from edgefl.results.export import as_csv
from edgefl.results.integrity import SUMMARY_DIGEST, expected
from edgefl.results.provenance import digest

KEYS = {**BASE, "rounds": 2, "targets": [0.1]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "out"
    edgefl.run(KEYS, out=folder, device="cpu")
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "out"))


def lines_of(call):
    with pytest.raises(InputError) as raised:
        call()
    return raised.value.faults


def resume(folder):
    return edgefl.run(KEYS, out=folder, device="cpu", resume=True)


READERS = {  # what reads which file
    "scenario.yaml": edgefl.read,
    "summary.json": edgefl.read,
    "rounds.csv": lambda folder: edgefl.report([folder], out=folder / "page.html"),
    "devices.csv": lambda folder: edgefl.report([folder], out=folder / "page.html"),
    "labels.csv": lambda folder: edgefl.report([folder], out=folder / "page.html"),
    "device_accuracy.csv": lambda folder: edgefl.read(folder).device_accuracy,
    "events.parquet": lambda folder: edgefl.read(folder).events,
    "model.safetensors": lambda folder: edgefl.read(folder).saved_model(),
}
DAMAGES = {
    "empty": lambda data: data[:0],
    "half": lambda data: data[: len(data) // 2],
    "one byte": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "not UTF-8": lambda data: b"\xff\xfe" + data,
    "more": lambda data: data + b"\n",
    "zeros": lambda data: bytes(len(data)),
}


def test_every_file_has_its_digest(whole):
    names = {path.name for path in whole.iterdir()} - {"manifest.json", "report.html"}
    assert names == set(expected(whole)) == set(READERS)
    assert all(digest(whole / name) == found for name, found in expected(whole).items())


@pytest.mark.parametrize("at", range(len(READERS)), ids=READERS)
def test_a_damaged_or_missing_file_is_named(at, folder):
    """Each file is damaged in three of the ways."""
    name = list(READERS)[at]
    file = folder / name
    data = file.read_bytes()
    for how in list(DAMAGES)[at % 2 :: 2]:
        file.write_bytes(DAMAGES[how](data))
        for call in (READERS[name], resume):
            (line,) = lines_of(lambda call=call: call(folder))
            assert line.startswith(f"{file}: was damaged or edited after the run"), how
            assert "overwrite" in line
    file.unlink()
    (line,) = lines_of(lambda: resume(folder))
    assert str(folder) in line
    assert "\n" not in line


def test_each_damaged_file_has_its_line(folder):
    for name in ("rounds.csv", "devices.csv"):
        (folder / name).write_text("")
    assert len(lines_of(lambda: resume(folder))) == 2


def test_export_refuses_an_edited_table(folder):
    """A spreadsheet has rounded the numbers."""
    table = folder / "rounds.csv"
    table.write_text(table.read_text().replace("0.", "1."))
    for call in (
        lambda: as_csv.write([folder], "rounds", io.BytesIO(), "csv"),
        lambda: edgefl.compare([folder, folder]),
    ):
        line, *_ = lines_of(call)
        assert line.startswith(f"{table}: was damaged or edited after the run")


@pytest.mark.oracle
def test_overwrite_repeats_a_damaged_run(folder, whole):
    table = (folder / "rounds.csv").read_bytes()
    (folder / "rounds.csv").write_bytes(table[: len(table) // 2])
    (line,) = lines_of(lambda: edgefl.run(KEYS, out=folder, device="cpu", overwrite=True))
    assert line.endswith("restore it, or move it away and run the scenario again with overwrite=True")
    (folder / "rounds.csv").rename(folder / "damaged.csv")
    edgefl.run(KEYS, out=folder, device="cpu", overwrite=True)
    assert (folder / "rounds.csv").read_bytes() == (whole / "rounds.csv").read_bytes()
    assert resume(folder).status == "finished"


@pytest.mark.parametrize(
    "content", ["[]", "null", "5", '"text"', "{", "", "[" * 100_000, '{"digests": 5}', '{"digests": {"../x": "0"}}']
)
def test_a_damaged_manifest_is_one_line(content, folder):
    (folder / "manifest.json").write_text(content)
    for call in (resume, edgefl.read, READERS["rounds.csv"]):
        (line,) = lines_of(lambda call=call: call(folder))
        assert line.startswith(f"{folder / 'manifest.json'}: ")
        assert "\n" not in line


def without_digests(folder):
    """As earlier versions left their folders."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["digests"], manifest[SUMMARY_DIGEST]
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("scenario.yaml", b"\xff\xfe"),
        ("labels.csv", b"device,label,samples\n0,1,-3\n"),
        ("labels.csv", b"device,label,samples\n-1,1,3\n"),
        ("labels.csv", b"device,label,samples\n0,1,nan\n"),
    ],
)
def test_nonsense_without_digests_is_one_line(name, content, folder):
    without_digests(folder)
    (folder / name).write_bytes(content)
    (line,) = lines_of(lambda: READERS["rounds.csv"](folder))
    assert name in line
    assert "\n" not in line


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_truncated_events_without_digests_are_one_line(content, folder):
    without_digests(folder)
    (folder / "events.parquet").write_bytes(content)
    (line,) = lines_of(lambda: edgefl.read(folder).events)
    assert "events.parquet: cannot be read" in line


def test_a_scenario_that_is_not_utf8_is_refused_by_resume(folder):
    without_digests(folder)
    (folder / "scenario.yaml").write_bytes(b"\xff\xfename: x")
    (line,) = lines_of(lambda: resume(folder))
    assert "scenario.yaml: edgefl has not written this file, or it is damaged" in line
