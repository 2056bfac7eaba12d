"""The learning curves of a sweep: bands calculated by hand, and points that are left out."""

import numpy as np
import pytest
from scipy import stats
from sweep_folders import make

from edgefl.results.report import write
from edgefl.results.report.comparison.seed_bands import seed_band
from edgefl.results.report.sweep.curves import MOST_CURVES, learning_curves
from edgefl.results.report.sweep.study import load

NAN = np.nan


def test_band_matches_hand_calculation():
    found = seed_band(
        [(np.array([1.0, 2, 3]), np.array([NAN, 0.2, 0.4])), (np.array([1.0, 2, 3, 4]), np.array([0.1, 0.3, 0.6, 1]))],
        whole=True,
    )
    assert found.x.tolist() == [2, 3]
    assert found.mean == pytest.approx([0.25, 0.5])
    assert found.half is None  # two runs: each is drawn by itself
    assert found.runs == pytest.approx(np.array([[0.2, 0.4], [0.3, 0.6]]))


def test_from_four_runs_on_a_band_has_an_interval():
    at = np.array([1.0, 2])
    values = np.array([[0.1, 0.4], [0.2, 0.5], [0.3, 0.6], [0.4, 0.7]])
    found = seed_band([(at, row) for row in values], whole=True)
    assert found.half == pytest.approx(stats.t.ppf(0.975, 3) * values.std(axis=0, ddof=1) / 2)
    assert seed_band([(at, row) for row in values[:3]], whole=True).half is None


def test_a_run_keeps_its_last_value():
    found = seed_band([(np.array([0.0, 10]), np.array([1.0, 3])), (np.array([0.0, 10]), np.array([3.0, 5]))])
    assert (found.mean[0], found.mean[-2], found.mean[-1]) == (2, 2, 4)


@pytest.mark.parametrize("runs", [[], [([1], [NAN])], [([1, 2], [1, 2]), ([3, 4], [1, 2])]])
def test_no_band_where_the_runs_do_not_overlap(runs):
    assert seed_band([(np.array(at, float), np.array(values, float)) for at, values in runs]) is None


@pytest.mark.oracle
def test_the_page_says_how_many_points_have_no_curve(tmp_path):
    folder = make(
        tmp_path / "s", {"radio.bandwidth_hz": [1e6 * n for n in range(1, MOST_CURVES + 11)]}, seeds=(1, 2), rounds=3
    )
    found = learning_curves(load(folder))
    assert sorted(found.figure["points"])[0 :: MOST_CURVES - 1] == [0, MOST_CURVES + 9]
    page = write([folder], tmp_path / "page.html")
    assert f"The page has the curves of {MOST_CURVES} of {MOST_CURVES + 10} points, evenly chosen." in page.read_text()
