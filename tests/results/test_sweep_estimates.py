"""The numbers of a sweep's report: estimates over seeds, differences from the best point, and their texts."""

import re

import numpy as np
import pytest
from result_folders import read_csv
from scipy import stats
from sweep_folders import BANDWIDTHS, NEVER, make, statistics

from edgefl.results.report import write
from edgefl.results.report.sweep.estimates import estimate_columns
from edgefl.results.report.sweep.measures import difference_text, estimate_text
from edgefl.results.report.sweep.study import load
from edgefl.results.statistics import Paired


def times_of(folder, point):
    """Return the time of each run of a point [s]."""
    return [float(row["time_s"]) for row in read_csv(folder / "index.csv") if row["point"] == point]


def test_the_row_of_a_point_by_hand(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS)
    rows = statistics(write([folder], tmp_path / "page.html"))
    first = times_of(folder, "1")
    second = times_of(folder, "2")
    last = times_of(folder, "3")
    assert [row["radio.bandwidth_hz"] for row in rows] == ["50000000", "100000000", "200000000"]
    assert float(rows[0]["time_s_mean"]) == pytest.approx(np.mean(first))
    assert float(rows[0]["time_s_std"]) == pytest.approx(np.std(first, ddof=1))
    assert float(rows[0]["time_s_ci95"]) == pytest.approx(stats.t.ppf(0.975, 2) * stats.sem(first))
    assert float(rows[0]["time_s_difference"]) == pytest.approx(np.mean(first) - np.mean(last))
    p_first = stats.ttest_rel(first, last).pvalue
    p_second = stats.ttest_rel(second, last).pvalue
    smaller, larger = sorted([p_first, p_second])
    assert float(rows[0]["time_s_p"]) == pytest.approx(max(2 * smaller, larger))  # Holm's correction for two tests
    assert rows[2]["time_s_p"] == ""


def test_missed_targets_are_medians_or_bounds(tmp_path):
    missed = {50_000_000: {1, 2}, 100_000_000: {1}}

    def change(values, seed):
        return NEVER if seed in missed.get(values["radio.bandwidth_hz"], ()) else {}

    folder = make(tmp_path / "s", BANDWIDTHS, change=change)
    most, some, none = statistics(write([folder], tmp_path / "page.html"))
    index = read_csv(folder / "index.csv")
    assert [row["target_0.9_time_s_reached"] for row in (most, some, none)] == ["1", "2", "3"]
    assert most["target_0.9_time_s_mean"] == ""
    assert most["target_0.9_time_s_median"] == ""
    assert some["target_0.9_time_s_mean"] == ""
    bounds_of_missed = [float(row["time_s"]) for row in index[:2]]
    reached = float(index[2]["target_0.9_time_s"])
    least = sorted([*bounds_of_missed, reached])
    assert float(most["target_0.9_time_s_above"]) == pytest.approx(least[1])
    assert float(some["target_0.9_time_s_median"]) == pytest.approx(float(index[5]["target_0.9_time_s"]))
    assert most["target_0.9_time_s_difference"] == ""
    assert some["target_0.9_time_s_p"] == ""
    assert none["target_0.9_time_s_mean"]


def test_point_that_missed_target_is_not_best(tmp_path):
    def change(values, seed):
        missed = values["radio.bandwidth_hz"] == 200_000_000 and seed == 1
        return NEVER if missed else {}

    folder = make(tmp_path / "s", BANDWIDTHS, change=change)
    found = estimate_columns(load(folder))
    assert found["time_s"].best == 2
    assert found["target_0.9_time_s"].best == 1


def test_texts_of_estimates_and_differences(tmp_path):
    def change(values, seed):
        missed = seed < values["radio.bandwidth_hz"] / 5e7  # of three seeds 0, 1 and 3
        return NEVER if missed else {}

    found = estimate_columns(load(make(tmp_path / "s", BANDWIDTHS, change=change)))
    column = found["target_0.9_time_s"]
    whole, some, none = (estimate_text(one, column.measure) for one in column.estimates)
    assert re.fullmatch(r"[\d.]+ ± [\d.]+ s", whole)
    assert re.fullmatch(r"median [\d.]+ s \(2 of 3\)", some)
    assert re.fullmatch(r"> [\d.]+ s \(0 of 3\)", none)
    assert difference_text(Paired(3, -0.012, 0.003, 0.01), found["final_accuracy"].measure) == "−1.20 ± 0.30 points"
    assert difference_text(Paired(3, 150, 12.34, 0.01), column.measure) == "+2.5 ± 0.21 min"
    assert difference_text(Paired(1, 1.5, np.nan, np.nan), column.measure) == "+1.5 s"


def test_a_network_that_outlives_its_runs_has_the_best_lifetime(tmp_path):
    """A run without a lifetime bounds it from below, so that no point with a known lifetime is the best."""
    lifetimes_s = {50_000_000: 3.0, 100_000_000: 5.0, 200_000_000: ""}
    folder = make(
        tmp_path / "s", BANDWIDTHS, change=lambda at, _: {"lifetime_s": lifetimes_s[at["radio.bandwidth_hz"]]}
    )
    column = estimate_columns(load(folder))["lifetime_s"]
    texts = [estimate_text(estimate, column.measure)[0] for estimate in column.estimates]
    assert texts == ["3", "5", ">"]
    assert column.best is None
    assert "lifetime" in write([folder], tmp_path / "page.html").read_text()
