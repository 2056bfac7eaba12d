"""Scenarios that cannot be run are refused in a moment, and by what is wrong with them."""

import os
import subprocess
import sys

import pytest

import edgefl as package
from edgefl.core.errors import InputError
from edgefl.core.machine import unmapped_library
from edgefl.runs import training_place

LONG = "\u6570" * 90


def test_a_file_without_an_end(edgefl):
    for verb in (["validate"], ["run", "-o", "out"], ["sweep", "-o", "out"]):
        (line,) = edgefl.refused(*verb, "/dev/zero")
        assert line == "/dev/zero: cannot be read: is a pipe or a device, not a file"


def test_pipes_are_not_waited_for(edgefl):
    """Wherever a file is named: opening one without a writer would never end."""
    os.mkfifo(edgefl.folder / "pipe")
    results = edgefl.folder / "results"
    results.mkdir()
    os.mkfifo(results / "manifest.json")
    (edgefl.folder / "small.yaml").write_text("rounds: 1\n")
    model = "model={kind: mlp, init: {kind: file, path: pipe}}"
    curves = "radio={rate: {kind: mcs}, errors: {kind: bler, curves: pipe}}"
    schedule = "server.selection={kind: schedule, file: pipe}"
    target = "targets=[{relative: 0.9, reference: results}]"
    os.mkfifo(results / "summary.json")
    commands = [
        ["validate", "pipe"],
        ["sweep", "pipe", "-o", "out"],
        *(["run", "small.yaml", "-o", "out", "--set", keys] for keys in (model, curves, schedule, target)),
        ["report", "results"],
        ["compare", "results", "results"],
    ]
    for command in commands:
        for line in edgefl.refused(*command):
            assert "pipe or a device" in line or "cannot be read" in line, line


def test_too_many_devices_are_found_before_torch_is_imported(monkeypatch):
    def imported(_name):
        raise AssertionError("torch was asked for its devices")

    monkeypatch.setattr(training_place, "choose_device", imported)
    with pytest.raises(InputError, match="10000000 devices cannot share 1438 training samples"):
        package.run({"devices": {"count": 10_000_000}})


def test_an_initial_model_that_overflows(edgefl):
    value = "-1e20"
    edgefl.write("s.yaml", f"rounds: 2\ndevices: {{count: 5}}\nmodel:\n  init: {{kind: value, value: {value}}}\n")
    for verb in (["validate", "s.yaml"], ["run", "s.yaml", "-o", "out", "--device", "cpu"]):
        (line,) = edgefl.refused(*verb)
        assert line.startswith("s.yaml:4: model.init.value: products of such large numbers exceed float32")


def test_long_names_of_points_are_cut_by_bytes(edgefl):
    """A name of 90 letters of three bytes each, such as those of a Chinese title, is longer than file systems take."""
    edgefl.write("base.yaml", "rounds: 2\ndevices: {count: 5}\n")
    names = ", ".join(f"{LONG}{number}" for number in range(2))
    edgefl.write("sweep.yaml", f"base: base.yaml\ngrid: {{name: [{names}]}}\n")
    done = edgefl("sweep", "sweep.yaml", "-o", "out", "--no-train", "--workers", "1", "--quiet")
    assert done.returncode == 0, done.stderr
    edgefl.write("s.yaml", f"name: {LONG}\nrounds: 2\ndevices: {{count: 5}}\n")
    done = edgefl("run", "s.yaml", "--no-train", "--quiet")
    assert done.returncode == 0, done.stderr


def limited(edgefl, limit_kib, *verb):
    """Run a verb in a shell that limits the address space."""
    command = f"ulimit -v {limit_kib}; exec {sys.executable} -m edgefl {' '.join(verb)}"
    # Where OpenBLAS has no room for the stacks of more threads, it writes lines of its own.
    environment = edgefl.environment | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        ["bash", "-c", command], cwd=edgefl.folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("limit_kib", "verb"),
    [
        (400_000, ("run", "s.yaml", "-o", "out", "--device", "cpu")),
        (2_500_000, ("sweep", "sweep.yaml", "-o", "out")),
        (2_500_000, ("doctor",)),
    ],
    ids=["run", "sweep", "doctor"],
)
def test_torch_does_not_fit_into_the_limit_of_the_shell(edgefl, limit_kib, verb):
    edgefl.write("s.yaml", "rounds: 2\ndevices: {count: 5}\n")
    edgefl.write("sweep.yaml", "base: s.yaml\nseeds: [1, 2]\n")
    done = limited(edgefl, limit_kib, *verb)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("edgefl: torch cannot be loaded (")
    assert line.endswith("(ulimit -v): raise the limit, or use a larger machine")
    assert not (edgefl.folder / "out").exists()


@pytest.mark.parametrize("verb", [("validate", "s.yaml"), ("list", "models")], ids=lambda verb: verb[0])
def test_hardly_anything_fits_into_the_limit_of_the_shell(edgefl, verb):
    edgefl.write("s.yaml", "rounds: 2\ndevices: {count: 5}\n")
    # Nor does NumPy. With a little less than edgefl needs, pydantic's own program aborts, whatever we do.
    done = limited(edgefl, 60_000, *verb)
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("edgefl: ")
    assert line.endswith("(ulimit -v): raise the limit, or use a larger machine")


def test_other_import_errors_do_not_count_as_lack_of_memory():
    assert unmapped_library(ImportError("cannot import name 'a' from 'b'")) is None
    text = "Importing failed.\nOriginal error was: liba.so: failed to map segment from shared object\n"
    raised_from = ImportError("import NumPy from elsewhere")
    raised_from.__cause__ = ImportError(text)
    line = "Original error was: liba.so: failed to map segment from shared object"
    assert unmapped_library(ImportError(text)) == unmapped_library(raised_from) == line


def test_writers_of_results_are_imported_before_the_first_round(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)  # then `import` raises ModuleNotFoundError
    with pytest.raises(ModuleNotFoundError):
        package.run({"rounds": 2, "devices": {"count": 5}}, out=tmp_path / "out", train=False)
    assert not (tmp_path / "out").exists()
