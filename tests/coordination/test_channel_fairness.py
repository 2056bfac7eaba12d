"""Proportional fairness and the age of updates: choices by hand and over many rounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from forecast_cases import forecast_with, view_with

import edgefl
from edgefl.coordination.selection.age_of_update import AgeOfUpdate, alpha_fair, packed
from edgefl.coordination.selection.best_channel import BestChannel
from edgefl.coordination.selection.proportional_fair import ProportionalFair
from edgefl.coordination.server_view import DeviceReports
from edgefl.core.streams import Streams

STREAMS = Streams(3)
RAYLEIGH = {
    "rounds": 300,
    "data": {"dataset": "digits"},
    "devices": {"count": 16},
    "mobility": {"kind": "static", "speed_mps": 0},
    "radio": {"fading": "rayleigh"},
}


def times_chosen(selection, rounds, participants, path_gain):
    """Count the choices of each device over independent Rayleigh fading."""
    rng = np.random.default_rng(7)
    times = np.zeros(len(path_gain))
    present = np.arange(len(path_gain))
    for index in range(rounds):
        view = view_with(forecast_with(path_gain=path_gain, fading=rng.exponential(1.0, len(path_gain))))
        times[selection.choose(present, participants, index, STREAMS, view)] += 1
    return times


def equally_often(times, rounds, participants, limit=4.5):
    """Tell if the largest deviation is below 4.5 standard errors: by chance one of 20 devices is beyond it in 1e-4."""
    chance = participants / len(times)
    sigma = np.sqrt(rounds * chance * (1 - chance))
    return np.abs(times - rounds * chance).max() < limit * sigma


@pytest.mark.oracle
def test_all_devices_come_equally_often_over_rayleigh_fading():
    """Path gains over 60 dB. A device that came with 0.30 instead of 0.25 would be 7.3 standard errors away."""
    path_gain = np.logspace(-14, -8, 20)
    assert equally_often(times_chosen(ProportionalFair(), 4000, 5, path_gain), 4000, 5)
    assert not equally_often(times_chosen(BestChannel(), 400, 5, path_gain), 400, 5)


def taken(devices):
    """Count the rounds of each of 16 devices; those that only reported their channel have another status."""
    return np.bincount(devices["device"][devices["status"] == "received"], minlength=16)


@pytest.mark.oracle
def test_devices_come_equally_often_in_a_run():
    server = {"participants": 4, "csi": {"kind": "perfect", "report_bits": 0}}
    fair = edgefl.run({**RAYLEIGH, "server": {**server, "selection": "proportional_fair"}}, train=False).devices
    few = {**RAYLEIGH, "rounds": 60}
    best = edgefl.run({**few, "server": {**server, "selection": "best_channel"}}, train=False).devices
    assert equally_often(taken(fair), 300, 4)
    assert not equally_often(taken(best), 60, 4)


def test_the_highest_ratios_come_first_and_the_unknown_before_them():
    view = view_with(forecast_with(fading=[0.5, 2.0, np.nan, 1.0], path_gain=[9.0, 1.0, 1.0, 5.0]))
    chosen = ProportionalFair().choose(np.arange(4), 3, 0, STREAMS, view)
    assert chosen.tolist() == [2, 1, 3]


# The age of updates


def reports_of(ids, *, received=True):
    some = np.ones(len(ids))
    return DeviceReports(np.array(ids, dtype=int), np.full(len(ids), received), some, some, some, some)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0])
def test_alpha_fair_values_have_the_derivative_age_to_minus_alpha(alpha):
    age = np.array([1.0, 2.0, 7.5])
    slope = (alpha_fair(age + 1e-6, alpha) - alpha_fair(age - 1e-6, alpha)) / 2e-6
    assert slope == pytest.approx(age**-alpha, rel=1e-6)


def test_ages_count_the_rounds_since_the_last_update():
    selection = AgeOfUpdate()
    memory = np.zeros((3, 1))
    for ids, received in (([0], True), ([0, 1], True), ([2], False), ([], True)):
        memory = selection.remember(memory, reports_of(ids, received=received), view_with(samples=[1, 1, 1]))
    assert memory[:, 0].tolist() == [2, 2, 4]


def test_with_one_channel_each_age_is_a_round_robin():
    """Every device takes part once in count / participants rounds, whatever alpha."""
    for alpha in (0.0, 1.0, 3.0):
        selection = AgeOfUpdate(alpha=alpha)
        memory = np.zeros((12, 1))
        chosen = []
        for index in range(12):
            ids = selection.choose(np.arange(12), 3, index, STREAMS, view_with(memory=memory))
            memory = selection.remember(memory, reports_of(ids), view_with(memory=memory))
            chosen.append(ids)
        for first in range(0, 12, 4):
            assert sorted(np.concatenate(chosen[first : first + 4])) == list(range(12))


def test_a_device_needs_as_many_channels_as_its_upload_takes():
    """On x of 6 channels an upload takes 6 / x times as long: within 2 s, 1 s of the whole band needs 3 channels."""
    selection = AgeOfUpdate(alpha=0, channels=6, upload_s=2.0)
    forecast = forecast_with(upload_s=[1.0, 2.0, 0.1, 2.1, 1 / 3])
    assert selection._needed(forecast, 6, 2.0).tolist() == [3, 6, 1, np.inf, 1]
    unknown = forecast_with(upload_s=[1.0, 2.0], snr_hz=[np.nan, 1.0])
    assert selection._needed(unknown, 6, 2.0).tolist() == [1, 6]
    # Ages 2, 8, 1, 9, 2 a channel: 2/3, 8/6, 1, 0, 2, so devices 4 and 2 leave 4 channels, of which 0 takes 3.
    view = view_with(forecast, memory=[[1], [7], [0], [8], [1]])
    assert set(selection.choose(np.arange(5), 5, 0, STREAMS, view)) == {4, 2, 0}
    assert set(selection.choose(np.arange(5), 1, 0, STREAMS, view)) == {4}


def test_the_greedy_choice_beside_all_subsets():
    """Never better than the best subset; with the best single one at least half as good; the best at equal costs."""
    rng = np.random.default_rng(1)
    gaps = []
    for trial in range(60):
        value = rng.uniform(0.1, 3, 8)
        cost = rng.integers(1, 5, 8).astype(float)
        if trial % 3 == 0:
            cost[:] = 2.0
        rows = packed(value, cost, 9, rng.random(8))
        assert cost[rows].sum() <= 9
        subsets = (list(some) for count in range(9) for some in itertools.combinations(range(8), count))
        best = max(value[some].sum() for some in subsets if cost[some].sum() <= 9)
        found = value[rows].sum()
        assert found <= best + 1e-12
        assert max(found, value.max()) >= best / 2
        if trial % 3 == 0:
            assert found == pytest.approx(best)
        gaps.append(1 - found / best)
    assert np.mean(gaps) < 0.05
