"""Scenarios that cannot be run are refused in a moment, and by what is wrong with them."""

import pytest

import edgefl as package
from edgefl.core.errors import InputError
from edgefl.runs import emulation

LONG = "\u6570" * 90


def test_a_file_without_an_end(edgefl):
    for verb in (["validate"], ["run", "-o", "out"], ["sweep", "-o", "out"]):
        (line,) = edgefl.refused(*verb, "/dev/zero")
        assert line == "/dev/zero: is larger than 16 MiB, which no scenario is"


def test_too_many_devices_are_found_before_torch_is_imported(monkeypatch):
    def imported(_name):
        raise AssertionError("torch was asked for its devices")

    monkeypatch.setattr(emulation, "choose_device", imported)
    with pytest.raises(InputError, match="10000000 devices cannot share 1438 training samples"):
        package.run({"devices": {"count": 10_000_000}})


@pytest.mark.parametrize("value", ["1e300", "1e25", "-1e20"])
def test_an_initial_model_that_overflows(edgefl, value):
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
