"""Code from outside that changes the working directory: results go where the command line says, and nowhere else."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flower_cases import FEDAVG, write_app
from recipe_cases import PARABOLA, write_library

import edgefl
from edgefl.cli import main
from edgefl.core.paths import data_folders

ALGORITHM = """\
import os
from pathlib import Path
from edgefl.learning.algorithms.fedavg import FedAvg

ELSEWHERE = Path(__file__).parent / "elsewhere"
AT_IMPORT = {at_import}
if AT_IMPORT:
    os.chdir(ELSEWHERE)

class Wanderer(FedAvg):
    def aggregate(self, *arguments, **options):
        os.chdir(ELSEWHERE)
        return super().aggregate(*arguments, **options)
"""
SCENARIO = """\
name: wanders
rounds: 3
algorithm: wanderer:Wanderer
model: logistic
devices: {count: 4}
server: {participants: 2}
"""
QUIET = ("--quiet", "--device", "cpu")


@pytest.fixture(params=[True, False], ids=["at import", "while it runs"])
def here(request, tmp_path, monkeypatch):
    """A working directory with a scenario whose algorithm goes elsewhere."""
    monkeypatch.chdir(tmp_path)
    Path("elsewhere").mkdir()
    Path("wanderer.py").write_text(ALGORITHM.format(at_import=request.param))
    Path("s.yaml").write_text(SCENARIO)
    Path("sweep.yaml").write_text("base: s.yaml\nseeds: [1, 2]\n")
    return tmp_path


def check(here, *files):
    for file in files:
        assert (here / file).exists(), file
    assert not list((here / "elsewhere").rglob("*"))


def finished(folder):
    return '"status": "finished"' in (folder / "manifest.json").read_text()


@pytest.mark.oracle
def test_a_run_and_its_prices_go_where_they_were_told(here, monkeypatch, capsys):
    assert main(["run", "s.yaml", "-o", "out", "--device", "cpu", "--checkpoint-every", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].split() == ["report", "out/report.html"]
    check(here, "out/report.html", "out/model.safetensors")
    assert finished(here / "out")
    over = ("--over", "radio.bandwidth_hz=1e6", "--quiet")
    for more in ((), ("-o", "prices.csv")):
        monkeypatch.chdir(here)
        assert main(["what-if", "out", *over, *more]) == 0
    check(here, "out/what_if.csv", "prices.csv")


@pytest.mark.oracle
def test_a_run_and_its_events_go_to_default_folders(here):
    pytest.importorskip("tensorboard")
    assert main(["run", "s.yaml", "--seed", "3", *QUIET, "--tensorboard", "events"]) == 0
    check(here, "results/wanders/seed-3/report.html", "events")
    assert finished(here / "results/wanders/seed-3")
    assert len(list((here / "events").iterdir())) == 1


@pytest.mark.parametrize(("here", "out"), [(True, "out"), (False, "")], indirect=["here"])
def test_a_sweep_writes_where_it_was_told(here, out, edgefl):
    named = ("-o", out) if out else ()
    starts_python = replace(edgefl, forks_sweeps=False)  # whose processes import the algorithm, too
    done = starts_python("sweep", "sweep.yaml", *named, "--device", "cpu", "--workers", "1")
    assert done.returncode == 0, done.stderr
    folder = Path(out or "results/sweep")
    assert f"index         {folder}/index.csv" in done.stdout
    check(here, folder / "report.html", folder / "index.csv")


@pytest.mark.oracle
@pytest.mark.parametrize("here", [False], indirect=True)
def test_python_writes_where_it_was_told(here, monkeypatch):
    assert edgefl.run("s.yaml", out="out", device="cpu").folder == here / "out"
    monkeypatch.chdir(here)
    edgefl.what_if("out", {"radio.bandwidth_hz": [1e6]}, out="prices.csv")
    check(here, "out/report.html", "prices.csv")


@pytest.mark.oracle
def test_data_are_found_where_they_were_named(here):
    rng = np.random.default_rng(1)
    arrays = {"train_x": rng.normal(size=(40, 4)), "test_x": rng.normal(size=(10, 4))}
    arrays = {name: values.astype(np.float32) for name, values in arrays.items()}
    labels = {"train_y": np.arange(40) % 2, "test_y": np.arange(10) % 2}
    Path("data").mkdir()
    np.savez("data/own.npz", **arrays, **labels)
    Path("scenarios").mkdir()
    shutil.move("s.yaml", "scenarios/s.yaml")
    shutil.copy("wanderer.py", "scenarios/wanderer.py")
    Path("scenarios/elsewhere").mkdir()
    data = "data={dataset: npz, path: data/own.npz}"
    assert main(["run", "scenarios/s.yaml", "--set", data, "-o", "out", *QUIET]) == 0
    check(here, "out/report.html")


def test_the_folder_with_data_stays_the_same(here, monkeypatch):
    monkeypatch.setenv("EDGEFL_DATA", "data")
    Path("data").mkdir()
    Path("data/mnist.npz").write_bytes(b"damaged")
    main(["run", "s.yaml", "--set", "data.dataset=mnist", "-o", "out", *QUIET])
    assert data_folders()[0] == here / "data"


@pytest.mark.parametrize("here", [True], indirect=True)
def test_a_reproduction_writes_where_it_was_told(here, edgefl):
    library = write_library(here / "library", table_1=PARABOLA + "set: {algorithm: 'wanderer:Wanderer'}\n")
    shutil.copy("wanderer.py", library / "recipes/textbook/bases/wanderer.py")
    (library / "recipes/textbook/bases/elsewhere").mkdir()
    command = ("reproduce", "textbook/table-1", "--library", "library", "--workers", "1", "--quiet")
    assert edgefl(*command, "-o", "out").returncode == 0
    check(here, "out/report.html", "out/measured.csv")


@pytest.mark.oracle
def test_a_flower_app_writes_where_it_was_told(tmp_path, monkeypatch):
    pytest.importorskip("flwr")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    leave = f"    import os; os.chdir({str(tmp_path / 'elsewhere')!r})\n"
    write_app(tmp_path / "app", "wanders", leave + FEDAVG.replace("{folder}", str(tmp_path)))
    Path("w.yaml").write_text(
        "name: tiny\ndevices: {count: 8}\nmodel: logistic\ntraining: {local_epochs: 1}\nrounds: 3\n"
    )
    assert main(["flower", "app", "--world", "w.yaml", "-o", "out", "--operations", "world", "--quiet"]) == 0
    check(tmp_path, "out/report.html")
    assert finished(tmp_path / "out")
