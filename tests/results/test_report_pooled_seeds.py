"""Runs that differ only in their seed, pooled on a page, against means and intervals computed here."""

import re

import numpy as np
import pytest
from result_folders import make, rewrite
from scipy.stats import t as student

from edgefl.results.report import write
from edgefl.results.report.comparison import learning_curves, pooled_seeds
from edgefl.results.report.shared.read import load_all


@pytest.fixture
def seeds(tmp_path):
    """Runs of a scenario under several seeds."""

    def build(count, first=1, name="run", **options):
        numbers = range(first, first + count)
        return [make(tmp_path / f"{name}-{seed}", seed=seed, **{"rounds": 12, **options}) for seed in numbers]

    return build


def accuracy_of(folders):
    runs = load_all(folders)
    groups = pooled_seeds.pooled(runs)
    return runs, learning_curves.accuracy([run for group in groups for run in group.runs], groups)


def page_of(folders, tmp_path):
    return write(folders, tmp_path / "page.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


def test_from_four_seeds_on_a_band_is_the_interval_of_the_mean(seeds):
    runs, figure = accuracy_of(seeds(5))
    band, mean = figure["data"]
    over_rounds = figure["views"]["round"]["data"]
    by_run = 100 * np.array([run.rounds["test_accuracy"] for run in runs])
    assert over_rounds[1]["x"] == list(range(1, 13))
    assert over_rounds[1]["y"] == pytest.approx(by_run.mean(axis=0), rel=1e-3)
    half = student.ppf(0.975, 4) * by_run.std(axis=0, ddof=1) / np.sqrt(5)
    upper, lower = np.split(np.array(over_rounds[0]["y"]), 2)
    assert upper - lower[::-1] == pytest.approx(2 * half, abs=0.03)
    assert upper + lower[::-1] == pytest.approx(2 * by_run.mean(axis=0), rel=2e-3)
    assert (band["fill"], band["line"]["width"]) == ("toself", 0)
    assert mean["line"]["width"] > 2


def test_fewer_seeds_are_thin_lines_without_an_interval(seeds):
    count = 3
    runs, figure = accuracy_of(seeds(count))
    *thin, mean = figure["data"]
    assert not any("fill" in trace for trace in figure["data"])
    assert [trace["line"]["width"] for trace in thin] == [1] * count
    assert [trace["name"] for trace in thin] == [f"seed {seed}" for seed in range(1, count + 1)]
    for run, trace in zip(runs, figure["views"]["round"]["data"], strict=False):
        assert trace["y"] == pytest.approx(100 * run.rounds["test_accuracy"], rel=1e-3)
    assert mean["line"]["width"] > 2


def test_mean_over_time_uses_last_tested_values(seeds):
    runs, figure = accuracy_of(seeds(4))
    shown = figure["views"]["time"]["data"][1]
    for time_s, value in list(zip(shown["x"], shown["y"], strict=True))[::10]:
        then = [run.rounds["test_accuracy"][run.rounds["time_s"] <= time_s * (1 + 1e-4)][-1] for run in runs]
        assert value == pytest.approx(100 * np.mean(then), rel=5e-3)


def test_groups_have_a_colour_each(seeds):
    slow = seeds(4, name="slow")
    fast = seeds(4, name="fast", training__lr=0.2)
    groups = pooled_seeds.pooled(load_all([*slow, *fast]))
    assert [group.look.label for group in groups] == ["lr 0.1", "lr 0.2"]
    assert [len({run.colour for run in group.runs}) for group in groups] == [1, 1]
    assert groups[0].look.colour != groups[1].look.colour
    assert pooled_seeds.seeds_text(groups) == "seeds 1, 2, 3, 4"


@pytest.mark.oracle
def test_the_page_has_the_means_and_says_what_the_band_is(seeds, tmp_path):
    folders = seeds(4)
    text = page_of(folders, tmp_path)
    assert "Bands are the 95 % confidence interval of the mean over seeds (Student&#39;s t)." in text
    assert "Thin lines" not in text
    assert "Only the seed: 1, 2, 3, 4." in text
    assert 'id="comparison"' not in text  # one seed is no better than another
    cells = re.search(r"seeds</th>.*?<tbody><tr>(.*?)</tr>", text, re.DOTALL)[1]
    values = np.array([100 * run.final_accuracy for run in load_all(folders)])
    half = student.ppf(0.975, 3) * values.std(ddof=1) / 2
    mean, spread = re.search(r"<td>([\d.]+) ± ([\d.]+) %</td>", cells).groups()
    assert float(mean) == pytest.approx(values.mean(), abs=0.06)
    assert float(spread) == pytest.approx(half, abs=0.006)
    assert "<td>4</td>" in cells
    assert "<td>12</td>" in cells  # rounds, without ± 0


@pytest.mark.oracle
def test_a_target_that_some_seeds_missed_has_no_mean(seeds, tmp_path):
    folders = seeds(2, rounds=16, targets=[0.8])
    assert "reached by" not in page_of(folders, tmp_path)
    short = make(tmp_path / "short", seed=3, rounds=3, targets=[0.8])
    text = page_of([*folders, short], tmp_path)
    assert "reached by 2 of 3" in text
    assert "Thin lines are single seeds" in text  # three seeds are too few for an interval
    assert "Bands are" not in text


@pytest.mark.oracle
def test_runs_are_compared_seed_by_seed(seeds, tmp_path):
    slow = seeds(3, name="slow")
    fast = seeds(3, first=2, name="fast", training__lr=0.2, pace=2.0)
    text = page_of([*slow, *fast], tmp_path)
    section = text[text.index('id="comparison"') : text.index('id="costs"')]
    assert "seed by seed" in section
    accuracies = section[: section.index("To 80 %")]
    assert re.findall(r"lr 0.2, seed (\d)", accuracies) == ["2", "3"]  # the first group has no seed 4


def test_a_seed_that_was_not_tested_leaves_single_curves(seeds):
    first, second = seeds(2)
    rewrite(second, "rounds.csv", lambda _: {"test_accuracy": ""})
    _, figure = accuracy_of([first, second])
    assert len(figure["data"]) == 1


@pytest.mark.oracle
@pytest.mark.parametrize("change", [{"training__lr": 0.2}, {}])
def test_different_runs_are_not_pooled_nor_is_the_same_one_twice(result, tmp_path, change):
    text = page_of([result("a"), result("b", **change)], tmp_path)
    assert "means over seeds" not in text
    assert 'id="comparison"' in text
