"""The estimate for a GPU that is not here: a round like a measured one takes as long as that."""

import re
from pathlib import Path

import pytest
from recipe_cases import PRICES, write_library

from edgefl.reproductions import trials
from edgefl.reproductions.gpu_time import H100, _Estimate, gpu_time
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan
from edgefl.scenario import load

ROOT = Path(__file__).parents[2]
MEASURED = {(one.model, one.batch): one for one in H100}
CNN = MEASURED["cnn", 50]
TEST = 10_000  # images

# 10 of 100 clients x 10 steps of 50, as measured, and one test after the last round.
LIKE_CNN = {
    "data": {"dataset": "cifar10"},
    "model": {"kind": "cnn"},
    "training": {"local_epochs": 1, "batch_size": 50, "lr": 0.1},
    "devices": {"count": 100},
    "server": {"participants": 10},
}


ESTIMATE = _Estimate(data_are_here=False)  # counts the operations of each model once


def run_s(rounds, keys=LIKE_CNN, eval_every=None, **report):
    scenario = {**keys, "rounds": rounds, "report": {"eval_every": eval_every or rounds, **report}}
    return ESTIMATE.run_s(load(scenario))


@pytest.mark.oracle
@pytest.mark.parametrize(("policy", "round_s"), [("synchronous", CNN.together_s), ("sequential", CNN.in_turn_s)])
def test_a_round_like_the_measured_one_takes_as_long(policy, round_s):
    keys = {**LIKE_CNN, "server": {"participants": 10, "policy": policy}}
    assert run_s(80, keys) - run_s(40, keys) == pytest.approx(40 * round_s, rel=1e-9)


@pytest.mark.oracle
def test_the_work_of_clients_scales_the_time_of_a_round():
    more = {**LIKE_CNN, "training": {"local_epochs": 5, "batch_size": 50, "lr": 0.1}, "server": {"participants": 20}}
    assert run_s(80, more) - run_s(40, more) == pytest.approx(40 * 5 * 2 * CNN.together_s, rel=1e-9)


@pytest.mark.oracle
def test_each_tested_model_adds_a_forward_pass_of_the_test_set():
    trained_samples = 10 * 10 * 50
    test_s = CNN.together_s * TEST / 3 / trained_samples
    once = run_s(40)
    assert run_s(40, eval_every=1, models=["sel", "all"]) - once == pytest.approx((3 * 40 - 1) * test_s, rel=1e-9)


@pytest.mark.oracle
def test_the_batch_chooses_among_rounds_of_one_model():
    keys = {**LIKE_CNN, "model": {"kind": "resnet18"}}
    for batch in (10, 20):
        one = MEASURED["resnet18", batch]
        steps = {**keys, "training": {"local_steps": 5, "batch_size": batch, "lr": 0.1}}
        found_s = run_s(80, steps) - run_s(40, steps)
        assert found_s == pytest.approx(40 * one.together_s * 10 / one.participants, rel=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "keys",
    [
        {"model": {"kind": "lenet5"}},  # a twentieth of the CNN's operations
        {"server": {"participants": 10, "policy": "asynchronous"}},
        {"server": {"participants": 10, "policy": "split"}},
        {"data": {"dataset": "svhn"}},  # whose size is not known without its files
    ],
    ids=str,
)
def test_nothing_is_said_where_nothing_similar_was_measured(keys):
    assert run_s(10, {**LIKE_CNN, **keys}) is None


@pytest.mark.oracle
def test_a_plan_adds_up_its_runs(tmp_path):
    recipe = (
        PRICES.replace("bases/parabola.yaml", "plain")
        .replace("train: false", "train: true")
        .replace(
            "{rounds: 30}",
            "{rounds: 30, data.dataset: cifar10, model: {kind: cnn}, devices.count: 100, report.eval_every: 10}",
        )
        .replace("slow: {training.lr: 0.1}", "slow: {training.lr: 0.1, rounds: 60}")
    )
    library = Library(write_library(tmp_path, figure_1=recipe))
    planned = plan(library, library.load("textbook/figure-1"), "full")
    found = gpu_time(planned, data_are_here=False)
    assert found.longest_s == pytest.approx(2 * found.shortest_s)
    assert found.whole_s == pytest.approx(2 * (2 + 1 + 1) * found.shortest_s)  # two seeds of three settings
    untrained = write_library(tmp_path / "untrained", figure_1=recipe.replace("train: true", "train: false"))
    library = Library(untrained)
    planned = plan(library, library.load("textbook/figure-1"), "full")
    assert gpu_time(planned, data_are_here=False) is None


def test_a_trial_on_a_device_is_kept_apart_from_others(tmp_path, monkeypatch):
    run_s = {"auto": 5.0, "cpu": 7.0}
    monkeypatch.setattr("edgefl.runs.forecast.whole_run_s", lambda _, options: run_s[options.device])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    library = Library(write_library(tmp_path))
    planned = plan(library, library.load("textbook/figure-1"), "full")
    assert trials.trial_s(planned, "cpu") == 7 * 6
    assert trials.kept_trial_s(planned) is None
    assert trials.trial_s(planned) == 5 * 6
    assert trials.kept_trial_s(planned) == 5 * 6


def test_the_page_of_benchmarks_has_the_measured_rounds():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    section = page.partition("## On a GPU")[2].partition("\n## ")[0]
    measured = {float(number) for number in re.findall(r"\d+\.\d+", section)}
    for one in H100:
        assert {one.together_s, one.in_turn_s} <= measured
