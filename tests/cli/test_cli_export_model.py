"""Models as files for other programs."""

import pytest

import edgefl
from edgefl.cli import main

SMALL = {
    "rounds": 2,
    "data": {"dataset": "digits"},
    "training": {"local_steps": 2, "batch_size": 8, "lr": 0.1, "engine": "serial"},
    "devices": {"count": 4},
    "server": {"participants": 2},
}


def test_safetensors_is_the_file_of_the_folder(tmp_path):
    edgefl.run(SMALL, out=tmp_path / "out", device="cpu")
    out = tmp_path / "deep" / "mine.safetensors"
    assert main(["export", str(tmp_path / "out"), "--format", "safetensors", "-o", str(out)]) == 0
    assert out.read_bytes() == (tmp_path / "out" / "model.safetensors").read_bytes()


def test_refused(edgefl, finished):
    """On the command line, as users meet it: one line, and not a file is made."""
    (line,) = finished.refused("export", "out", "out", "--format", "safetensors", "-o", "model")
    assert line == "export: --format safetensors writes one model: name one result folder"
    (line,) = finished.refused("export", "nowhere", "--format", "safetensors", "-o", "model")
    assert line == "nowhere: not a result folder: no such folder"
    (line,) = finished.refused("export", "out", "--format", "safetensors", "--table", "rounds", "-o", "model")
    assert line == "export: --table rounds: not with --format safetensors: leave it out"


@pytest.mark.oracle
def test_a_run_that_has_learned_nothing(tmp_path, capsys):
    edgefl.run(SMALL, train=False, out=tmp_path / "out")
    assert main(["export", str(tmp_path / "out"), "--format", "safetensors", "-o", str(tmp_path / "model")]) == 2
    assert "has no model, as nothing was learned" in capsys.readouterr().err
