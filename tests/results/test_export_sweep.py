"""Exports of a sweep: tables of its runs with the swept keys, its points as rows of a paper, its figure."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from export_cases import exported
from forked_pool import forked_pools
from sweep_folders import ALGORITHMS, BANDWIDTHS, FAILED, NEVER, make, statistics

import edgefl
from edgefl.core.errors import InputError
from edgefl.results.export import EXPORT_TABLES, export, paper
from edgefl.results.export.figures import _draw_sweep
from edgefl.results.export.paper import PERCENT, PaperMeasure, RunNumber
from edgefl.results.export.sweep_figure import draw_panel, panels_of
from edgefl.results.report import write as write_report
from edgefl.results.report.comparison.seed_groups import SeedGroup
from edgefl.results.report.shared.read import Run
from edgefl.results.report.sweep.estimates import estimate_columns
from edgefl.results.report.sweep.selection import StudyChoice
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
    with forked_pools():
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


def drawn(folder, choice=StudyChoice()):  # noqa: B008 - it is immutable
    """The panels of a sweep's figure: axes, and by marker the points that are drawn."""
    from matplotlib.figure import Figure

    panels = panels_of(load(folder), choice)
    shown = []
    for number, axes in enumerate(np.ravel([Figure().subplots() for _ in panels.panels])):
        draw_panel(axes, panels, number)
        marks = {(line.get_marker(), line.get_fillstyle()): line.get_xydata() for line in axes.get_lines()}
        shown.append((axes, marks))
    return shown


@pytest.mark.oracle
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


@pytest.mark.oracle
def test_means_have_bands_over_seeds_and_axes_are_logarithmic_where_values_span_decades(tmp_path):
    grid = {"radio.bandwidth_hz": [1_000_000 * 4**power for power in range(5)]}
    folder = make(tmp_path / "sweep", grid, seeds=(1, 2, 3, 4))
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


@pytest.mark.oracle
def test_another_key_and_another_goal(tmp_path):
    folder = make(tmp_path / "sweep", BANDWIDTHS | ALGORITHMS)
    (axes, _), _ = drawn(folder, StudyChoice(over="algorithm", target="none"))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["FedAvg", "FedProx"]
    assert axes.get_ylabel() == "time of the whole run [s]"
    assert drawn(folder, StudyChoice(target="0.80"))[0][0].get_ylabel() == "time to 80 % [s]"


@pytest.mark.oracle
def test_the_same_sweep_gives_the_same_bytes(tmp_path):
    folder = make(tmp_path / "sweep", BANDWIDTHS | ALGORITHMS)
    picture = exported([folder], "pdf")
    assert picture == exported([folder], "pdf", ("figure", "sweep"))
    assert picture.startswith(b"%PDF")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            {"over": "band"},
            '--over band: band is not a key of the sweep (did you mean "radio.bandwidth_hz"?)',
        ),
        ({"where": ["participants"]}, "--where participants: must be KEY=VALUE, such as radio.bandwidth_hz=50000000"),
        ({"rows": ["bandwidth"], "columns": ["bandwidth_hz"]}, "--columns bandwidth_hz: the key is in --rows already"),
    ],
)
def test_impossible_figures_are_refused(tmp_path, choice, message):
    folder = make(tmp_path / "sweep", BANDWIDTHS | {"server.participants": [1, 2, 3]}, seeds=(1,))
    with pytest.raises(InputError, match=re.escape(message)):
        export([folder], "png", None, tmp_path / "out.png", StudyChoice(**choice))
    assert not (tmp_path / "out.png").exists()


CHURN = {"churn.arrivals_per_s": [0.5, 1, 2]}
MANY = {"algorithm": ["fedavg", "scaffold", "fedprox", "my_own:Mine"]}


@pytest.mark.oracle
def test_a_figure_has_a_line_for_each_method_and_a_panel_for_each_other_setting(tmp_path):
    """Each estimate is drawn once: 4 methods at 3 bandwidths in 3 panels of each of 2 measures."""
    folder = make(tmp_path / "sweep", MANY | BANDWIDTHS | CHURN, seeds=(1, 2))
    study = load(folder)
    panels = panels_of(study, StudyChoice())
    assert panels.labels == ["FedAvg", "SCAFFOLD", "FedProx", "Mine"]
    assert panels.shape == (2, 3)
    assert [panel.heading for panel in panels.panels[:3]] == ["arrivals 0.5 /s", "arrivals 1 /s", "arrivals 2 /s"]
    times = []
    for axes, _ in drawn(folder)[:3]:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["50", "100", "200"]
        lines = [line for line in axes.get_lines() if line.get_label() in panels.labels]
        assert [len(line.get_xdata()) for line in lines] == [3] * 4
        times += [value for line in lines for value in line.get_ydata()]
    column = panels.panels[0].column
    size = max(times) / max(estimate.mean for estimate in column.estimates)
    assert np.allclose(sorted(times), sorted(size * estimate.mean for estimate in column.estimates))


def test_rows_and_columns_are_a_grid_of_panels(tmp_path):
    folder = make(tmp_path / "sweep", MANY | BANDWIDTHS | CHURN, seeds=(1, 2))
    choice = StudyChoice(rows=("arrivals_per_s",), columns=("algorithm",), measure=("accuracy",))
    panels = panels_of(load(folder), choice)
    assert panels.shape == (3, 4)
    assert panels.panels[4].heading == "arrivals 1 /s\nFedAvg"
    assert [len(panel.points) for panel in panels.panels] == [3] * 12


def test_a_condition_leaves_the_other_points_out(tmp_path):
    folder = make(tmp_path / "sweep", MANY | BANDWIDTHS | CHURN, seeds=(1, 2))
    panels = panels_of(load(folder), StudyChoice(where=("algorithm=Mine, scaffold", "bandwidth=100e6,2e8")))
    assert panels.labels == ["SCAFFOLD", "Mine"]
    assert sum(len(panel.points) for panel in panels.panels) == 2 * 2 * 2 * 3


def test_few_seeds_are_dots_and_no_interval(tmp_path):
    folder = make(tmp_path / "sweep", BANDWIDTHS, seeds=(1, 2, 3))
    (axes, _), _ = drawn(folder, StudyChoice(target="none"))
    times_s = sorted(load(folder).numbers["time_s"])
    dots = [line.get_ydata() for line in axes.get_lines() if line.get_marker() == "."]
    assert sorted(np.concatenate(dots)) == pytest.approx(times_s)
    assert not [band for band in axes.collections if len(band.get_paths())]


@pytest.mark.parametrize(("width", "inches", "across"), [("single", 3.5, 1), ("double", 7.16, 2), (None, 7.16, 2)])
def test_a_figure_has_the_width_of_one_or_two_columns(tmp_path, width, inches, across):
    folder = make(tmp_path / "sweep", BANDWIDTHS)
    figure = _draw_sweep(load(folder), StudyChoice(width=width))
    assert figure.get_figwidth() == pytest.approx(inches)
    assert len({axes.get_subplotspec().colspan.start for axes in figure.axes if axes.get_visible()}) == across


@pytest.mark.process
def test_tables_of_runs_have_the_points_that_are_chosen(sweep, tmp_path):
    whole = pd.read_csv(io.BytesIO(exported([sweep], "csv", ("table", "summary"))))
    key = load(sweep).keys[0]
    choice = StudyChoice(where=[f"{key.path}={key.cells[0]}"])
    part = pd.read_csv(io.BytesIO(exported([sweep], "csv", ("table", "summary"), choice)))
    assert 0 < len(part) < len(whole)
    assert part.equals(whole[whole[key.column].astype(str) == key.cells[0]].reset_index(drop=True))


def test_intervals_are_standard_deviations_on_request(tmp_path):
    folder = make(tmp_path / "sweep", BANDWIDTHS, seeds=(1, 2, 3, 4))
    tops = {}
    for interval in ("ci95", "sd"):
        (axes, _), _ = drawn(folder, StudyChoice(interval=interval, target="none"))
        (band,) = axes.collections
        tops[interval] = band.get_paths()[0].vertices[:, 1].max()
    estimate = estimate_columns(load(folder))["time_s"].estimates[0]
    assert (tops["ci95"] - estimate.mean) / (tops["sd"] - estimate.mean) == pytest.approx(estimate.half / estimate.std)


@pytest.mark.process
def test_a_pivot_has_each_number_of_the_table(sweep):
    """The same cells, elsewhere; the best algorithm of each setting of the other keys is bold."""
    choice = StudyChoice(measure=("time",), target="none", interval="ci95")
    plain = table_rows(sweep, choice)
    turned = table_rows(sweep, replace(choice, rows=("rounds",), columns=("deadline_s",)))
    assert turned[0][:2] == ["rounds", "algorithm"]
    assert [head.rpartition(": ")[2] for head in turned[0][2:]] == ["4.5 s", "30 s"]
    cells = sorted(cell for row in turned[1:] for cell in row[2:])
    assert cells == sorted(row[-1] for row in plain[1:])


def table_rows(folder, choice):
    content = io.BytesIO()
    paper.write([folder], None, content, "markdown", choice)
    lines = content.getvalue().decode().splitlines()
    head, _, *rows = [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]
    return [head, *rows]


def test_the_best_is_the_best_method_of_each_setting(tmp_path):
    """Of accuracies 1 to 12, the best of each of three bandwidths among four methods is bold."""

    def group(point):
        scenario = {"name": "s", "algorithm": "fedavg", "seed": 1}
        return SeedGroup("g", [Run(Path(), scenario, "", {}, {"final_accuracy": point / 100}, {}, {}, list)])

    study = load(make(tmp_path / "sweep", MANY | BANDWIDTHS, seeds=(1,)))
    numbers = [7, 1, 4, 3, 12, 5, 6, 2, 11, 9, 8, 10]  # of the points, whose method varies slowest
    measure = PaperMeasure("accuracy", "final", lambda run: RunNumber(run.summary["final_accuracy"]), PERCENT, max)
    conditions = [paper.condition_of(study, point) for point in range(12)]
    column = paper.number_column(measure, [group(number) for number in numbers], None, conditions)
    assert [number for number, cell in zip(numbers, column.cells, strict=True) if cell.best] == [12, 11, 9]


@pytest.mark.process
def test_choices_without_a_sweep_are_refused(tmp_path, sweep):
    run = min(sweep.glob("*/seed-*"))
    for folders, form, part, choice, message in [
        ([run], "png", ("figure", "sweep"), {}, "--figure sweep: needs the folder of a sweep"),
        ([run], "png", None, {"target": "0.9"}, "--target 0.9: only with --figure sweep"),
        ([sweep], "csv", None, {"over": "rounds"}, "--over rounds: only with a sweep's figures"),
        ([run], "latex", None, {"where": ["rounds=2"]}, "--where rounds=2: only with the folder of a sweep"),
        ([sweep], "latex", None, {"facet": ["rounds"]}, "--facet rounds: only with --figure sweep or --table effects"),
    ]:
        with pytest.raises(InputError, match=message):
            export(folders, form, part, tmp_path / "out", StudyChoice(**choice))
