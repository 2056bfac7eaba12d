"""Exports of a sweep: tables of its runs with the swept keys, its points as rows of a paper, its figure."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import yaml
from export_cases import exported
from sweep_folders import ALGORITHMS, BANDWIDTHS, FAILED, NEVER, make, statistics

import edgefl
from edgefl.core.errors import InputError
from edgefl.results.export import EXPORT_TABLES, export
from edgefl.results.export.sweep_figure import SweepChoice, draw_panel, panels_of
from edgefl.results.report import write as write_report
from edgefl.results.report.sweep.study import load

GRID = {"rounds": [2, 3], "algorithm": ["fedavg", {"kind": "fedprox", "mu": 0.1}], "server.deadline_s": [30, 4.5]}
NAMES = {"rounds": "scenario.rounds", "algorithm": "algorithm", "server.deadline_s": "server.deadline_s"}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A sweep over numbers, blocks and a key that is also a column; one run is not finished."""
    folder = tmp_path_factory.mktemp("sweep")
    base = {"devices": {"count": 4}, "server": {"participants": 2, "policy": "deadline"}}
    (folder / "base.yaml").write_text(yaml.safe_dump(base))
    keys = {"base": "base.yaml", "grid": GRID, "seeds": [1, 2]}
    (folder / "sweep.yaml").write_text(yaml.safe_dump(keys, sort_keys=False))
    index = edgefl.sweep(folder / "sweep.yaml", out=folder / "out", train=False, workers=1)
    assert (index["status"] == "finished").all()
    assert index["scenario.rounds"].equals(index["rounds"])
    return folder / "out"


def table_of(folder, table, form="csv"):
    content = io.BytesIO(exported([folder], form, ("table", table)))
    return pd.read_csv(content) if form == "csv" else pd.read_parquet(content)


@pytest.mark.process
@pytest.mark.parametrize("table", EXPORT_TABLES)
def test_a_table_is_that_of_its_runs_with_the_values_of_their_scenarios(sweep, table):
    """The rows of each run exported by itself, and keys and seed as they stand in its scenario.yaml."""
    whole = table_of(sweep, table)
    folders = sorted(sweep.glob("*/seed-*"))
    names = dict(NAMES)
    if table in {"summary", "targets"}:
        names["algorithm"] = "scenario.algorithm"
    keys = [names[key] for key in GRID]
    assert list(whole)[: 2 + len(keys)] == ["run", *keys, "seed"]
    assert len(whole) == sum(len(table_of(folder, table)) for folder in folders)
    for run, rows in whole.groupby("run"):
        own = table_of(sweep.parent / "out" / run.partition("out/")[2], table)
        pd.testing.assert_frame_equal(rows[list(own)].reset_index(drop=True), own, check_dtype=False)
        scenario = yaml.safe_load((sweep / run.partition("out/")[2] / "scenario.yaml").read_text())
        (values,) = rows[[*keys, "seed"]].drop_duplicates().to_numpy().tolist()
        algorithm = json.loads(values[1]) if values[1].startswith("{") else {"kind": values[1]}
        assert values[0] == scenario["rounds"]
        assert algorithm.items() <= scenario["algorithm"].items()
        assert values[2] == scenario["server"]["deadline_s"]
        assert values[3] == scenario["seed"]


@pytest.mark.process
def test_parquet_has_the_types_of_the_values(sweep):
    table = table_of(sweep, "summary", "parquet")
    assert table.dtypes[["scenario.rounds", "server.deadline_s", "seed"]].astype(str).tolist() == [
        "int64",
        "float64",
        "int64",
    ]
    assert set(table["scenario.algorithm"]) == {"fedavg", '{"kind": "fedprox", "mu": 0.1}'}


@pytest.mark.process
def test_json_has_the_values_as_they_are(sweep):
    runs = json.loads(exported([sweep], "json"))
    assert [run["values"] for run in runs][-1] == {key: values[-1] for key, values in GRID.items()}
    assert {tuple(run)[:3] for run in runs} == {("run", "values", "manifest")}


@pytest.mark.process
def test_a_run_beside_a_sweep_has_no_values(sweep):
    alone = min(sweep.glob("*/seed-*"))
    table = pd.read_csv(io.BytesIO(exported([sweep, alone], "csv", ("table", "rounds"))))
    assert table["algorithm"].isna().sum() == len(table_of(alone, "rounds"))
    trace = json.loads(exported([sweep], "trace"))["traceEvents"]
    assert len({event["pid"] for event in trace}) == 2 * 16  # server and devices of each run


@pytest.mark.process
def test_a_table_for_a_paper_has_a_row_for_each_point(sweep):
    lines = exported([sweep], "markdown").decode().splitlines()
    head, _, *rows = [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]
    assert head[:4] == ["rounds", "algorithm", "deadline", "seeds"]
    assert [row[:4] for row in rows[:2]] == [["2", "FedAvg", "30 s", "2"], ["2", "FedAvg", "4.5 s", "2"]]
    assert len(rows) == 8
    assert exported([sweep], "latex").decode().count("FedProx") == 4


def test_only_finished_runs_are_exported(tmp_path):
    folder = make(tmp_path / "sweep", BANDWIDTHS, change=lambda *_: FAILED)
    with pytest.raises(InputError, match="no run of this sweep has finished"):
        export([folder], "csv", None, tmp_path / "out.csv")
    with pytest.raises(InputError, match="no run of this sweep has finished"):
        export([folder], "png", None, tmp_path / "out.png")
    assert not (tmp_path / "out.csv").exists()


def missed(values, seed):
    """One seed of three misses at 50 MHz, two at 100 MHz."""
    return NEVER if seed < {50_000_000: 2, 100_000_000: 3}.get(values["radio.bandwidth_hz"], 0) else {}


def drawn(folder, choice=SweepChoice()):  # noqa: B008 - it is immutable
    """The panels of a sweep's figure: axes, and by marker the points that are drawn."""
    from matplotlib.figure import Figure

    panels = panels_of(load(folder), choice)
    shown = []
    for number, axes in enumerate(Figure().subplots(1, 2)):
        draw_panel(axes, panels, number)
        marks = {(line.get_marker(), line.get_fillstyle()): line.get_xydata() for line in axes.get_lines()}
        shown.append((axes, marks))
    return shown


def test_the_figure_has_the_numbers_of_the_statistics(tmp_path):
    folder = make(tmp_path / "sweep", BANDWIDTHS, change=missed)
    write_report([folder], folder / "report.html")
    rows = statistics(folder / "report.html")
    for (axes, points), cost in zip(drawn(folder), ("time_s", "energy_j"), strict=True):
        first, second, third = (
            {name: row[f"target_0.9_{cost}_{name}"] for name in ("mean", "median", "above")} for row in rows
        )
        assert np.allclose(points["o", "none"], [[50, float(first["median"])]]), "an open circle: the median"
        assert np.allclose(points["^", "none"], [[100, float(second["above"])]]), "an open triangle: a lower bound"
        assert np.allclose(points["o", "full"][2], [200, float(third["mean"])]), "filled: the mean"
        assert axes.get_xlabel() == "bandwidth [MHz]"
        assert axes.get_ylabel() in {"time to 90 % [s]", "energy to 90 % [J]"}


def test_means_have_bands_over_seeds_and_axes_are_logarithmic_where_values_span_decades(tmp_path):
    grid = {"radio.bandwidth_hz": [1_000_000 * 4**power for power in range(5)]}
    folder = make(tmp_path / "sweep", grid)
    write_report([folder], folder / "report.html")
    rows = statistics(folder / "report.html")
    (axes, points), _ = drawn(folder)
    mean = np.array([float(row["target_0.9_time_s_mean"]) for row in rows])
    half = np.array([float(row["target_0.9_time_s_ci95"]) for row in rows])
    assert np.allclose(points["o", "full"], np.column_stack([[1, 4, 16, 64, 256], mean]), rtol=1e-6)
    (band,) = axes.collections
    edges = band.get_paths()[0].vertices
    assert np.isclose(edges[:, 1].max(), (mean + half).max())
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4", "16", "64", "256"]


def test_another_key_and_another_goal(tmp_path):
    folder = make(tmp_path / "sweep", BANDWIDTHS | ALGORITHMS)
    (axes, _), _ = drawn(folder, SweepChoice(over="algorithm", target="none"))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["FedAvg", "FedProx"]
    assert axes.get_ylabel() == "time of the whole run [s]"
    assert drawn(folder, SweepChoice(target="0.80"))[0][0].get_ylabel() == "time to 80 % [s]"


@pytest.mark.parametrize("form", ["png", "pdf"])
def test_the_same_sweep_gives_the_same_bytes(tmp_path, form):
    folder = make(tmp_path / "sweep", BANDWIDTHS | ALGORITHMS)
    picture = exported([folder], form)
    assert picture == exported([folder], form, ("figure", "sweep"))
    assert picture.startswith(b"\x89PNG" if form == "png" else b"%PDF")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            {"over": "bandwidth"},
            "--over bandwidth: is not a key of the sweep: use one of radio.bandwidth_hz, server.participants",
        ),
        ({"target": "0.7"}, "--target 0.7: is not a target of the sweep: use one of 0.8, 0.9, none"),
        ({"target": "high"}, "--target high: is not a target of the sweep"),
        ({}, "--figure sweep: has 13 settings of the other keys, and a figure shows at most 12"),
    ],
)
def test_impossible_figures_are_refused(tmp_path, choice, message):
    folder = make(tmp_path / "sweep", BANDWIDTHS | {"server.participants": list(range(1, 14))}, seeds=(1,))
    with pytest.raises(InputError, match=message):
        export([folder], "png", None, tmp_path / "out.png", choice)


@pytest.mark.process
def test_choices_without_a_sweep_are_refused(tmp_path, sweep):
    run = min(sweep.glob("*/seed-*"))
    for folders, form, part, choice, message in [
        ([run], "png", ("figure", "sweep"), {}, "--figure sweep: needs the folder of a sweep"),
        ([run], "png", None, {"target": "0.9"}, "--target 0.9: only with --figure sweep"),
        ([sweep], "csv", None, {"over": "rounds"}, "--over rounds: only with --figure sweep"),
    ]:
        with pytest.raises(InputError, match=message):
            export(folders, form, part, tmp_path / "out", choice)
