"""The folder of a sweep as columns, and the errors for damaged and other folders."""

import csv
import io
import re

import pytest
import yaml
from result_folders import read_csv, write_csv
from sweep_folders import ALGORITHMS, BANDWIDTHS, make

from edgefl.cli import main
from edgefl.core.errors import InputError
from edgefl.results.report import write
from edgefl.results.report.sweep.study import load

TWO_BANDS = {"radio.bandwidth_hz": [50_000_000, 100_000_000]}


def labelled(folder, names):
    """Give the points of a folder a label by their algorithm and selection; points without one are removed."""
    rows = list(csv.DictReader(io.StringIO((folder / "index.csv").read_text())))
    kept = [row for row in rows if (row["algorithm"], row["server.selection"]) in names]
    for row in kept:
        row["label"] = names[row["algorithm"], row["server.selection"]]
    write_csv(folder / "index.csv", list(kept[0]), kept)
    content = yaml.safe_load((folder / "sweep.yaml").read_text())
    content["keys"] = ["label", *content["keys"]]
    (folder / "sweep.yaml").write_text(yaml.safe_dump(content))
    return folder


def test_points_and_keys(tmp_path):
    study = load(make(tmp_path / "s", BANDWIDTHS | ALGORITHMS, seeds=(4, 7)))
    bandwidth, algorithm = study.keys
    assert (bandwidth.title, bandwidth.unit.name, bandwidth.numbers) == ("bandwidth", "MHz", [50, 100, 200])
    assert bandwidth.texts == ["50 MHz", "100 MHz", "200 MHz"]
    assert (algorithm.texts, algorithm.numbers) == (["FedAvg", "FedProx"], None)
    assert [point.value_indices for point in study.points] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert [len(point.rows) for point in study.points] == [2] * 6
    assert study.targets == ["0.8", "0.9"]


def test_numbers_are_sorted_whatever_their_order_in_the_file(tmp_path):
    study = load(make(tmp_path / "s", {"training.lr": [0.1, 0.001, 0.01]}, seeds=(1,)))
    assert study.keys[0].numbers == [0.001, 0.01, 0.1]


def test_classes_from_outside_are_named_without_their_modules_where_that_is_clear(tmp_path):
    values = ["fedavg", "my_nova:MyNova", {"kind": "a.my_nova:MyNova", "scale": 2}]
    (key,) = load(make(tmp_path / "clear", {"algorithm": values})).keys
    assert key.texts == ["FedAvg", "my_nova:MyNova", "a.my_nova:MyNova"]
    (key,) = load(make(tmp_path / "clear-too", {"algorithm": ["fedavg", "my_nova:MyNova"]})).keys
    assert key.texts == ["FedAvg", "MyNova"]
    (key,) = load(make(tmp_path / "alike", {"algorithm": ["one:Mine", "two:Mine"]})).keys
    assert key.texts == ["one:Mine", "two:Mine"]


def test_keys_whose_paths_end_alike_have_their_paths_as_titles(tmp_path):
    study = load(make(tmp_path / "s", {"training.lr": [0.1], "algorithm.lr": [0.2]}, seeds=(1,)))
    assert [key.title for key in study.keys] == ["training.lr", "algorithm.lr"]


# Wrong input


def damaged(sweep, row, **cells):
    rows = read_csv(sweep / "index.csv")
    rows[row] |= cells
    write_csv(sweep / "index.csv", list(rows[0]), rows)


def cut(folder, change):
    path = folder / "index.csv"
    path.write_text(change(path.read_text()))


WRONG = {
    "no index": (lambda s: (s / "index.csv").unlink(), r"index\.csv is missing"),
    "an empty index": (lambda s: cut(s, lambda _: ""), r"index\.csv: the file is empty"),
    "no runs": (lambda s: cut(s, lambda text: text.partition("\n")[0]), "lists no run"),
    "a column less": (lambda s: cut(s, lambda text: text.replace("time_s", "time")), "column time_s is missing"),
    "half a row": (lambda s: cut(s, lambda text: text[:-30]), r"row 9 has \d+ cells, must have \d+"),
    "no number": (lambda s: damaged(s, 4, energy_j="much"), "row 5: energy_j: must be a number, got 'much'"),
    "a total less": (lambda s: damaged(s, 0, time_s=""), "row 1: time_s: must be a number, as the run has finished"),
    "a run twice": (lambda s: damaged(s, 1, seed=1), "row 2: point 1 has a second run with seed 1"),
    "a folder outside": (lambda s: damaged(s, 0, folder="../other"), "folder: must lie within the sweep's folder"),
    "no keys": (lambda s: (s / "sweep.yaml").write_text("name: x"), "keys: must be a list"),
    "no YAML": (lambda s: (s / "sweep.yaml").write_text("{"), "not YAML"),
    "a run less": (lambda s: (s / "1/seed-1/rounds.csv").unlink(), r"rounds\.csv is missing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_damaged_folder_gives_one_line_and_no_files(name, tmp_path, capsys):
    folder = make(tmp_path / "s", BANDWIDTHS, rounds=3)
    damage, pattern = WRONG[name]
    damage(folder)
    assert main(["report", str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(pattern, line)
    assert not list(folder.glob("*.html"))
    assert not (folder / "statistics.csv").exists()


def test_a_sweep_is_reported_on_alone(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS, rounds=3)
    with pytest.raises(InputError, match="is a sweep's folder: name only sweeps beside it"):
        write([folder, tmp_path], tmp_path / "page.html")


def test_the_label_stands_for_the_keys_that_it_determines(tmp_path):
    """Of three methods at two bandwidths, algorithm and selection follow from the label, and the bandwidth does not."""
    grid = {"algorithm": ["fedavg", "scaffold"], "server.selection": ["uniform", "fedcs"]} | TWO_BANDS
    names = {("fedavg", "uniform"): "Plain", ("fedavg", "fedcs"): "Quick", ("scaffold", "uniform"): "Mine"}
    folder = labelled(make(tmp_path / "s", grid, seeds=(1,)), names)
    study = load(folder)
    assert [key.path for key in study.keys] == ["label", "radio.bandwidth_hz"]
    assert study.method == 0
    assert study.point_text(0) == "Plain · bandwidth 50 MHz"
    assert study.key_columns == ["label", *grid]
