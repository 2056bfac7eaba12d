"""The population over time and the handovers of each round, against the columns of rounds.csv."""

import numpy as np
import pytest
from report_folders import POPULATION, named, with_rounds

from edgefl.results.report.run import population
from edgefl.results.report.shared import time_charts
from edgefl.results.report.shared.read import load


def test_counts_at_their_times(result):
    run = load(with_rounds(result(), **POPULATION))
    figure = population.figure(run)
    there = named(figure, "devices present")
    assert there["y"] == run.rounds["present"].tolist()
    assert there["x"] == pytest.approx(run.rounds["time_s"] - run.rounds["duration_s"], abs=1e-3)
    assert named(figure, "arrivals")["y"] == run.rounds["arrivals"].tolist()
    assert named(figure, "departures")["y"] == (-run.rounds["departures"]).tolist()


def test_bars_are_as_wide_as_rounds(result):
    run = load(with_rounds(result(), **POPULATION))
    bar = named(population.figure(run), "arrivals")
    begins = np.array(bar["x"]) - np.array(bar["width"]) / 2
    assert begins == pytest.approx(run.rounds["time_s"] - run.rounds["duration_s"], abs=1e-2)


@pytest.mark.oracle
def test_long_run_keeps_all_counts_in_shared_bars(result):
    run = load(with_rounds(result(rounds=1000, server__participants=1), **POPULATION))
    bar = named(population.figure(run), "arrivals")
    assert len(bar["y"]) <= time_charts.MOST_TIME_BARS
    assert sum(bar["y"]) == run.rounds["arrivals"].sum()
    assert 60 * sum(bar["width"]) == pytest.approx(run.rounds["time_s"][-1], rel=1e-2)  # in minutes


def test_constant_population_has_no_figure(result):
    constant = {"present": lambda _: 100, "arrivals": lambda _: 0, "departures": lambda _: 0}
    assert population.figure(load(with_rounds(result(), **constant))) is None
    assert population.figure(load(result("earlier"))) is None


def test_sessions_are_marked(result):
    run = load(with_rounds(result(rounds=9), session=lambda n: 1 + n // 4, **POPULATION))
    marks = [shape["x0"] for shape in population.figure(run)["layout"]["shapes"]]
    assert marks == pytest.approx(run.rounds["time_s"][[2, 6]], rel=1e-4)


def test_each_round_has_a_bar_of_its_handovers(result):
    run = load(with_rounds(result("some"), handovers=lambda n: n % 4))
    assert named(population.handovers_card(run, [run]).figure, "handovers")["y"] == run.rounds["handovers"].tolist()


def test_a_run_without_handovers_has_no_card(result):
    for folder in (with_rounds(result("none"), handovers=lambda _: 0), result("off")):
        run = load(folder)
        assert population.handovers_card(run, [run]) is None
