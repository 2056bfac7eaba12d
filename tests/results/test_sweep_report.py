"""The report on a sweep: its numbers, its sentences, its table, and the errors for folders that are not a sweep's."""

import json
import re
from html import unescape

import numpy as np
import pytest
from result_folders import read_csv, write_csv
from scipy import stats
from sweep_folders import FAILED, NEVER, make, statistics

from edgefl.cli import main
from edgefl.core.errors import InputError
from edgefl.results.report import write
from edgefl.results.report.sweep.answer import answer, lines_along
from edgefl.results.report.sweep.curves import MOST_CURVES, confidence_band, learning_curves
from edgefl.results.report.sweep.estimates import estimate_columns
from edgefl.results.report.sweep.measures import goals
from edgefl.results.report.sweep.study import load
from edgefl.results.report.sweep.texts import difference_text, estimate_text
from edgefl.results.statistics import Paired

BANDWIDTHS = {"radio.bandwidth_hz": [50_000_000, 100_000_000, 200_000_000]}
ALGORITHMS = {"algorithm": ["fedavg", {"kind": "fedprox", "mu": 0.1}]}
NAN = np.nan


def sentences(folder, goal, key=0):
    study = load(folder)
    chosen = next(one for one in goals(study) if one.title == goal)
    return answer(study, estimate_columns(study), chosen, key)


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found[1])


# What varies, and the points


def test_points_and_keys(tmp_path):
    study = load(make(tmp_path / "s", BANDWIDTHS | ALGORITHMS, seeds=(4, 7)))
    bandwidth, algorithm = study.keys
    assert (bandwidth.title, bandwidth.unit.name, bandwidth.numbers) == ("bandwidth", "MHz", [50, 100, 200])
    assert bandwidth.texts == ["50 MHz", "100 MHz", "200 MHz"]
    assert (algorithm.texts, algorithm.numbers) == (["fedavg", "fedprox, mu 0.1"], None)
    assert [point.value_indices for point in study.points] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert [len(point.rows) for point in study.points] == [2] * 6
    assert study.targets == ["0.8", "0.9"]
    assert lines_along(study, 0) == [[0, 2, 4], [1, 3, 5]]
    assert lines_along(study, 1) == [[0, 1], [2, 3], [4, 5]]


def test_numbers_are_in_order_whatever_the_files(tmp_path):
    study = load(make(tmp_path / "s", {"training.lr": [0.1, 0.001, 0.01]}, seeds=(1,)))
    assert study.keys[0].numbers == [0.001, 0.01, 0.1]
    assert lines_along(study, 0) == [[1, 2, 0]]


def test_two_keys_with_one_last_part_keep_their_paths(tmp_path):
    study = load(make(tmp_path / "s", {"training.lr": [0.1], "algorithm.lr": [0.2]}, seeds=(1,)))
    assert [key.title for key in study.keys] == ["training.lr", "algorithm.lr"]


# Statistics


def test_a_row_a_point_by_hand(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS)
    rows = statistics(write([folder], tmp_path / "page.html"))
    index = read_csv(folder / "index.csv")
    first, last = ([float(row["time_s"]) for row in index if row["point"] == name] for name in ("1", "3"))
    assert [row["radio.bandwidth_hz"] for row in rows] == ["50000000", "100000000", "200000000"]
    assert float(rows[0]["time_s_mean"]) == pytest.approx(np.mean(first))
    assert float(rows[0]["time_s_std"]) == pytest.approx(np.std(first, ddof=1))
    assert float(rows[0]["time_s_ci95"]) == pytest.approx(stats.t.ppf(0.975, 2) * stats.sem(first))
    assert float(rows[0]["time_s_difference"]) == pytest.approx(np.mean(first) - np.mean(last))
    p = [stats.ttest_rel([float(r["time_s"]) for r in index if r["point"] == n], last).pvalue for n in ("1", "2")]
    assert float(rows[0]["time_s_p"]) == pytest.approx(max(2 * min(p), *p))  # both after Holm
    assert rows[2]["time_s_p"] == ""


def test_missed_targets_are_medians_or_bounds(tmp_path):
    missed = {50_000_000: {1, 2}, 100_000_000: {1}}
    folder = make(
        tmp_path / "s",
        BANDWIDTHS,
        change=lambda at, seed: NEVER if seed in missed.get(at["radio.bandwidth_hz"], ()) else {},
    )
    most, some, none = statistics(write([folder], tmp_path / "page.html"))
    index = read_csv(folder / "index.csv")
    assert [row["target_0.9_time_s_reached"] for row in (most, some, none)] == ["1", "2", "3"]
    assert (most["target_0.9_time_s_mean"], most["target_0.9_time_s_median"], some["target_0.9_time_s_mean"]) == (
        "",
        "",
        "",
    )
    known = sorted([*(float(row["time_s"]) for row in index[:2]), float(index[2]["target_0.9_time_s"])])
    assert float(most["target_0.9_time_s_above"]) == pytest.approx(known[1])
    assert float(some["target_0.9_time_s_median"]) == pytest.approx(float(index[5]["target_0.9_time_s"]))
    assert most["target_0.9_time_s_difference"] == some["target_0.9_time_s_p"] == ""
    assert none["target_0.9_time_s_mean"]


def test_a_point_that_missed_is_not_the_best(tmp_path):
    folder = make(
        tmp_path / "s",
        BANDWIDTHS,
        change=lambda at, seed: NEVER if at["radio.bandwidth_hz"] == 200_000_000 and seed == 1 else {},
    )
    found = estimate_columns(load(folder))
    assert found["time_s"].best == 2
    assert found["target_0.9_time_s"].best == 1


def test_texts(tmp_path):
    study = load(
        make(tmp_path / "s", BANDWIDTHS, change=lambda at, seed: NEVER if seed < at["radio.bandwidth_hz"] / 5e7 else {})
    )
    found = estimate_columns(study)
    column = found["target_0.9_time_s"]
    whole, some, none = (estimate_text(one, column.measure) for one in column.estimates)
    assert re.fullmatch(r"[\d.]+ ± [\d.]+ s", whole)
    assert re.fullmatch(r"median [\d.]+ s \(2 of 3\)", some)
    assert re.fullmatch(r"> [\d.]+ s \(0 of 3\)", none)
    assert difference_text(Paired(3, -0.012, 0.003, 0.01), found["final_accuracy"].measure) == "−1.20 ± 0.30 points"
    assert difference_text(Paired(3, 150, 12.34, 0.01), column.measure) == "+2.5 ± 0.21 min"
    assert difference_text(Paired(1, 1.5, NAN, NAN), column.measure) == "+1.5 s"


# The answer


def test_what_a_key_buys(tmp_path):
    (text,) = sentences(make(tmp_path / "s", BANDWIDTHS), "to 90 %")
    pattern = (
        r"With bandwidth raised from 50 MHz to 200 MHz, "
        r"the time to 90 % falls from .* s to .* ms \(−.* s, −74\.6 %; p .*\) "
        r"and the energy to 90 % falls from .* J to .* mJ \(−.* J, −74\.6 %; p .*\)\."
    )
    assert re.fullmatch(pattern, text)


def test_most_of_it(tmp_path):
    (text,) = sentences(make(tmp_path / "s", {"radio.bandwidth_hz": [10e6, 100e6, 150e6]}), "the whole run")
    assert text.endswith("100 MHz already gives 96 % of the time saved.")  # 1 / 101 of 1 / 11, and that of 1 / 151


def test_a_line_for_each_of_few_settings_and_the_best(tmp_path):
    texts = sentences(make(tmp_path / "s", BANDWIDTHS | ALGORITHMS), "to 80 %")
    assert texts[0].startswith(
        "With algorithm fedavg and bandwidth raised from 50 MHz to 200 MHz, the time to 80 % falls"
    )
    assert texts[1].startswith("With algorithm fedprox, mu 0.1 and bandwidth")
    assert texts[2].startswith("The lowest time to 80 % is ")
    assert "bandwidth 200 MHz · algorithm fed" in texts[2]


def test_many_settings_in_one_sentence(tmp_path):
    grid = BANDWIDTHS | {"training.lr": [0.1, 0.2, 0.3, 0.4]}
    texts = sentences(make(tmp_path / "s", grid), "the whole run")
    assert texts[0].startswith(
        "With bandwidth raised from 50 MHz to 200 MHz, at 4 settings of the other keys, "
        "the time of the whole run changes by −75 %"
    )


def test_a_key_without_effect_is_said_to_have_none(tmp_path):
    (text, *_) = sentences(make(tmp_path / "s", {"radio.bandwidth_hz": [1e8], "training.lr": [0.1, 0.2]}), "to 80 %", 1)
    assert "the time to 80 % stays at" in text


def test_who_missed_a_target(tmp_path):
    folder = make(
        tmp_path / "s", BANDWIDTHS, change=lambda at, seed: NEVER if at["radio.bandwidth_hz"] < 6e7 and seed > 1 else {}
    )
    first, second = sentences(folder, "to 90 %")
    assert "time to 90 % goes from > " in first
    assert second == "Not all runs reached 90 %: 1 of 3 with bandwidth 50 MHz did."


# Curves


def test_a_band_by_hand():
    found = confidence_band(
        [(np.array([1.0, 2, 3]), np.array([NAN, 0.2, 0.4])), (np.array([1.0, 2, 3, 4]), np.array([0.1, 0.3, 0.6, 1]))],
        whole=True,
    )
    assert found.x.tolist() == [2, 3]
    assert found.mean == pytest.approx([0.25, 0.5])
    assert found.half == pytest.approx(stats.t.ppf(0.975, 1) * np.array([0.05, 0.1]))


def test_a_run_keeps_its_last_value():
    found = confidence_band([(np.array([0.0, 10]), np.array([1.0, 3])), (np.array([0.0, 10]), np.array([3.0, 5]))])
    assert (found.mean[0], found.mean[-2], found.mean[-1]) == (2, 2, 4)


@pytest.mark.parametrize("runs", [[], [([1], [NAN])], [([1, 2], [1, 2]), ([3, 4], [1, 2])]])
def test_no_band_where_the_runs_do_not_overlap(runs):
    assert confidence_band([(np.array(at, float), np.array(values, float)) for at, values in runs]) is None


# The page


def test_what_was_left_out_is_said(tmp_path):
    folder = make(
        tmp_path / "s", {"radio.bandwidth_hz": [1e6 * n for n in range(1, MOST_CURVES + 11)]}, seeds=(1, 2), rounds=3
    )
    found = learning_curves(load(folder))
    assert sorted(found.figure["points"])[0::39] == [0, MOST_CURVES + 9]
    page = write([folder], tmp_path / "page.html")
    assert "The page has the curves of 40 of 50 points, evenly chosen." in page.read_text()


def test_failed_runs_are_listed_and_left_out(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS, change=lambda _, seed: FAILED if seed == 2 else {})
    page = write([folder], tmp_path / "page.html")
    text = page.read_text()
    assert "6 of 9 runs have finished (3 failed). This page covers the finished runs only." in text
    assert text.count("round 1: diverged") == 3
    assert "2 of 3" in text
    assert [row["finished"] for row in statistics(page)] == ["2", "2", "2"]


def test_priced_sweeps_have_no_targets(tmp_path):
    page = write([make(tmp_path / "s", BANDWIDTHS, train=False)], tmp_path / "page.html")
    found = data_of(page)
    assert [goal["title"] for goal in found["goals"]] == ["the whole run"]
    assert found["curves"] is None
    assert "there are no learning curves" in page.read_text()


def test_a_sweep_of_seeds_alone(tmp_path):
    page = write([make(tmp_path / "s", {})], tmp_path / "page.html")
    assert len(statistics(page)) == 1
    assert data_of(page)["points"] == [[]]


def test_texts_are_escaped(tmp_path):
    evil = "</script><script>alert(1)</script>"
    folder = make(
        tmp_path / "s",
        {"data.path": [evil, "b"]},
        change=lambda _, seed: FAILED | {"error": evil} if seed == 2 else {},
    )
    text = write([folder], tmp_path / "page.html").read_text()
    assert evil not in text
    assert evil in unescape(text)


def test_the_same_folder_gives_the_same_bytes(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS)
    pages = [write([folder], tmp_path / name / "page.html") for name in ("a", "b")]
    assert pages[0].read_bytes() == pages[1].read_bytes()


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
def test_wrong_folders_are_told_in_one_line(name, tmp_path, capsys):
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
    with pytest.raises(InputError, match="is a sweep's folder: name it alone"):
        write([folder, tmp_path], tmp_path / "page.html")
