"""The labels that devices hold: from the partition through the result folder to the heat map."""

import csv
import json

import numpy as np
import pytest
from result_folders import write_csv

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.datasets.synthetic import Synthetic
from edgefl.results.report.page import render
from edgefl.results.report.shared import describe, label_heatmap
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import styled_run

ROWS = [(0, 0, 3), (0, 2, 1), (1, 0, 7), (3, 5, 20)]


def with_labels(folder, rows=ROWS):
    columns = ["device", "label", "samples"]
    write_csv(folder / "labels.csv", columns, [dict(zip(columns, row, strict=True)) for row in rows])
    return folder


def one(folder, place=0):
    return styled_run(load(folder), f"run {place}", place)


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return [{name: int(cell) for name, cell in row.items()} for row in csv.DictReader(stream)]


SCENARIO = {"rounds": 1, "devices": {"count": 10}, "server": {"participants": 2}}


class TestFolder:
    @pytest.mark.oracle
    def test_run_writes_labels_of_devices(self, tmp_path):
        partition = {"data": {"dataset": "digits", "partition": "distinct"}}
        edgefl.run(SCENARIO | partition, train=False, out=tmp_path / "run")
        rows = rows_of(tmp_path / "run" / "labels.csv")
        assert [(row["device"], row["label"]) for row in rows] == [(i, i) for i in range(10)]
        assert [row["samples"] for row in rows] == np.bincount(Digits().load().train_y).tolist()
        digests = json.loads((tmp_path / "run" / "manifest.json").read_text())["digests"]
        assert "labels.csv" in digests
        assert "Who holds what" in render([load(tmp_path / "run")])

    def test_partition_by_owner_fills_map(self, tmp_path):
        data = {"dataset": "synthetic", "owners": 5, "partition": "natural"}
        edgefl.run(SCENARIO | {"data": data, "devices": {"count": 5}}, train=False, out=tmp_path / "run")
        held = np.zeros(5, int)
        for row in rows_of(tmp_path / "run" / "labels.csv"):
            held[row["device"]] += row["samples"]
        assert held.tolist() == np.bincount(Synthetic(owners=5).load().owner).tolist()

    def test_samples_without_labels_write_none(self, tmp_path):
        data = {"dataset": "quadratic", "coefficients": [[1, 2, 0], [1, -2, 0]]}
        out = tmp_path / "run"
        scenario = SCENARIO | {"data": data, "devices": {"count": 2}}
        edgefl.run(scenario, train=False, out=out)
        assert not (out / "labels.csv").exists()

    def test_page_without_labels_has_no_data_section(self, result):
        folder = result()
        assert load(folder).labels is None
        assert "Who holds what" not in render([load(folder)])

    @pytest.mark.parametrize(
        ("text", "reason"),
        [("device,label\n0,1\n", "column samples is missing"), ("device,label,samples\n0,x,1\n", "near line 2")],
    )
    def test_a_broken_file(self, result, text, reason):
        folder = result()
        (folder / "labels.csv").write_text(text)
        with pytest.raises(InputError, match=f"labels.csv: {reason}"):
            load(folder)


class TestFigure:
    def test_rows_are_labels_columns_devices_blank_is_none(self, result):
        figure = label_heatmap.figure(load(with_labels(result())).labels)
        heat, bars = figure["data"]
        assert (heat["x"], heat["y"]) == ([0, 1, 3], [0, 2, 5])
        assert heat["z"] == [[3, 7, None], [1, None, None], [None, None, 20]]
        assert bars["y"] == [4, 7, 20]
        assert heat["x"] == bars["x"]

    def test_very_many_are_picked_from_evenly(self):
        device, label = (axis.ravel().astype(float) for axis in np.meshgrid(np.arange(1000), np.arange(301)))
        table = {"device": device, "label": label, "samples": 1 + device + 1000 * label}
        found_labels, found_devices, samples = label_heatmap.grid(table)
        assert samples.shape == (label_heatmap.MOST_LABEL_ROWS, label_heatmap.MOST_DEVICE_COLUMNS)
        assert (found_devices[0], found_devices[-1], found_labels[0], found_labels[-1]) == (0, 999, 0, 300)
        assert (samples == 1 + found_devices + 1000 * found_labels[:, None]).all()
        assert "; 300 of the devices and 100 of the labels are drawn. Bars: all labels." in label_heatmap.caption(table)
        sizes = label_heatmap.figure(table)["data"][1]["y"]
        assert sizes[0] == 301 + 1000 * 301 * 150  # of all labels, also of those that are not drawn

    def test_large_counts_keep_their_digits(self, result):
        figure = label_heatmap.figure(load(with_labels(result(), [(0, 0, 123_457)])).labels)
        assert figure["data"][0]["z"] == [[123_457]]

    @pytest.mark.parametrize(
        ("rows", "text"),
        [
            (ROWS, "3 devices hold 4 to 20 samples, of 1.33 of the 3 labels on average."),
            ([(0, 0, 5), (1, 1, 5)], "2 devices hold 5 samples each, of 1 of the 2 labels on average."),
        ],
    )
    def test_caption(self, result, rows, text):
        assert label_heatmap.caption(load(with_labels(result(), rows)).labels).startswith(text)

    @pytest.mark.parametrize(
        ("devices", "classes", "left_out"),
        [(300, 100, None), (301, 100, "; 300 of the devices are drawn."), (300, 101, "; 100 of the labels are drawn.")],
    )
    def test_the_caption_says_what_is_left_out(self, devices, classes, left_out):
        device, label = (each.ravel().astype(float) for each in np.indices((devices, classes)))
        text = label_heatmap.caption({"device": device, "label": label, "samples": np.ones_like(device)})
        assert left_out in text if left_out else "drawn" not in text

    def test_the_height_grows_with_the_labels(self):
        def height(count):
            table = {name: np.arange(float(count)) for name in ("device", "label", "samples")}
            return label_heatmap.height(label_heatmap.figure(table))

        assert label_heatmap.LEAST_HEIGHT == height(2) < height(12) < height(60) == label_heatmap.GREATEST_HEIGHT


class TestPage:
    @pytest.mark.oracle
    def test_runs_with_the_same_data_share_a_map(self, result):
        runs = [
            with_labels(result("a")),
            with_labels(result("b", algorithm__kind="fedprox")),
            with_labels(result("c", seed=2), ROWS[:-1]),
            result("old"),
        ]
        groups = label_heatmap.runs_by_data([one(folder, place) for place, folder in enumerate(runs)])
        assert [[it.label for it in group] for _, group in groups] == [["run 0", "run 1"], ["run 2"]]
        page = render([load(folder) for folder in runs])
        assert page.count('data-figure="labels-') == 2

    @pytest.mark.oracle
    def test_shared_map_names_no_runs(self, result):
        page = render([load(with_labels(result(name, seed=seed))) for name, seed in (("a", 1), ("b", 2))])
        section = page[page.index('<section id="labels">') : page.index("Run by run")]
        assert "swatch" not in section
        assert section.count("data-figure") == 1

    @pytest.mark.oracle
    def test_many_maps_are_folded(self, result):
        runs = [load(with_labels(result(f"r{n}", seed=n, rounds=1), [(0, 0, n)])) for n in range(1, 7)]
        page = render(runs)
        section = page[page.index('<section id="labels">') : page.index("Run by run")]
        assert section.count('<details class="run" open>') == 1
        assert section.count('<details class="run">') == 5

    def test_a_file_without_rows_draws_nothing(self, result):
        assert "Who holds what" not in render([load(with_labels(result(), []))])


def test_key_without_value_is_not_a_difference(result):
    dirichlet = {"kind": "dirichlet", "alpha": 0.3, "size_sigma": None}
    runs = [load(result("a", data__partition=dirichlet)), load(result("b", data__partition={"kind": "half"}))]
    assert list(describe.differences([run.scenario for run in runs])) == ["data.partition.kind", "data.partition.alpha"]
    other = load(result("c", data__partition=dirichlet | {"size_sigma": 0.5}))
    assert describe.differences([runs[0].scenario, other.scenario]) == {"data.partition.size_sigma": ["null", "0.5"]}
