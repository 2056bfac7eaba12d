"""TiFL: profiles, tiers, credits and weights by hand, how often tiers are drawn, and a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forecast_cases import view_with

import edgefl
from edgefl.coordination.selection.tifl import DRAWN, LOSS_BEFORE, WEIGHT, TiFL, changed_weights
from edgefl.coordination.server_view import DeviceReports
from edgefl.core.streams import Streams

LATENCY_S = np.array([9.0, 1.0, 8.0, 2.0, 7.0, 3.0])  # in three tiers: 1 and 3, 5 and 4, 2 and 0


def reports_of(ids, trip_s):
    some = np.ones(len(ids))
    return DeviceReports(np.array(ids), np.ones(len(ids), dtype=bool), np.array(trip_s, dtype=float), some, some, some)


def view(memory, loss=None):
    found = view_with(samples=[10] * len(LATENCY_S), memory=memory)
    return found if loss is None else replace(found, loss=np.array(loss, dtype=float))


def profiled(selection):
    """The memory after one round in which all were profiled."""
    start = np.zeros((6, selection.memory_width))
    return selection.remember(start, reports_of(np.arange(6), LATENCY_S), view(start))


def test_tiers_are_equal_parts_by_latency():
    selection = TiFL(tiers=3)
    assert selection.tiers_of(profiled(selection)).tolist() == [2, 0, 2, 0, 1, 1]
    assert TiFL(tiers=4).tiers_of(profiled(selection)).tolist() == [3, 0, 2, 0, 2, 1]  # of 2, 1, 2 and 1 devices
    assert TiFL(tiers=1).tiers_of(profiled(selection)).tolist() == [0] * 6


def test_devices_are_profiled_by_the_mean_of_their_first_rounds():
    selection = TiFL(tiers=2, profile_rounds=2)
    memory = np.zeros((6, selection.memory_width))
    for trips in ([1, 9, 9, 9, 9, 9], [20, 9, 9, 2, 2, 2]):
        chosen = selection.choose(np.arange(6), 6, 0, Streams(1), view(memory))
        assert sorted(chosen) == list(range(6))
        memory = selection.remember(memory, reports_of(np.arange(6), trips), view(memory))
    assert selection.tiers_of(memory).tolist() == [1, 1, 1, 0, 0, 0]
    later = selection.remember(memory, reports_of([3, 4, 5], [99, 99, 99]), view(memory))
    assert selection.tiers_of(later).tolist() == [1, 1, 1, 0, 0, 0]


def test_new_devices_are_profiled_first():
    selection = TiFL(tiers=2)
    memory = selection.remember(np.zeros((6, 5)), reports_of([0, 1, 2, 3], LATENCY_S[:4]), view(np.zeros((6, 5))))
    assert set(selection.choose(np.arange(6), 3, 1, Streams(1), view(memory))) == {4, 5}
    assert selection.tiers_of(memory).tolist() == [1, 0, 1, 0, -1, -1]


@pytest.mark.oracle
def test_a_round_is_of_one_tier_drawn_by_its_probability():
    """2000 rounds: each tier within 4.5 standard errors, and each of its devices as often as the other."""
    selection = TiFL(tiers=3, probabilities=(0.6, 0.3, 0.1))
    memory = profiled(selection)
    tier = selection.tiers_of(memory)
    drawn = np.zeros(3)
    single = np.zeros(6)
    for index in range(2000):
        pair = selection.choose(np.arange(6), 2, index, Streams(5), view(memory))
        assert len(set(tier[pair])) == 1
        assert len(pair) == 2
        drawn[tier[pair[0]]] += 1
        single[selection.choose(np.arange(6), 1, index, Streams(6), view(memory))] += 1
    expected = 2000 * np.array([0.6, 0.3, 0.1])
    assert (np.abs(drawn - expected) < 4.5 * np.sqrt(expected)).all()
    assert (np.abs(single - expected[tier] / 2) < 4.5 * np.sqrt(expected[tier] / 2)).all()


def test_tiers_of_absent_devices_are_not_drawn():
    selection = TiFL(tiers=3, probabilities=(1.0, 0.0, 0.0))
    memory = profiled(selection)
    assert set(selection.choose(np.arange(6), 2, 0, Streams(1), view(memory))) == {1, 3}
    chosen = [set(selection.choose(np.array([0, 2, 4]), 3, i, Streams(1), view(memory))) for i in range(50)]
    assert {0, 2} in chosen
    assert {4} in chosen
    assert all(each in ({0, 2}, {4}) for each in chosen)


def test_credits_limit_how_often_a_tier_is_drawn():
    selection = TiFL(tiers=3, credits=4, probabilities=(0.8, 0.1, 0.1))
    memory = profiled(selection)
    for index in range(12):
        ids = np.sort(selection.choose(np.arange(6), 2, index, Streams(2), view(memory)))
        memory = selection.remember(memory, reports_of(ids, LATENCY_S[ids]), view(memory))
        assert memory[:3, DRAWN].max() <= 4
    assert memory[:3, DRAWN].tolist() == [4, 4, 4]
    assert len(selection.choose(np.arange(6), 2, 12, Streams(2), view(memory))) == 2  # without any, all may be drawn


def test_weights_fall_by_equal_steps_with_the_loss():
    everybody = np.ones(3, dtype=bool)
    assert changed_weights(np.array([0.2, 0.9, 0.5]), everybody) == pytest.approx([1 / 6, 3 / 6, 2 / 6])
    assert changed_weights(np.array([0.2, 0.9, 0.5]), np.array([1, 0, 1], dtype=bool)) == pytest.approx(
        [1 / 3, 0, 2 / 3]
    )


def test_tiers_get_new_weights_when_the_last_one_has_not_improved():
    """Every two rounds. Losses by tier: device 1 and 3, 5 and 4, 2 and 0."""
    selection = TiFL(tiers=3, adaptive=True, interval=2)
    memory = profiled(selection)
    first = [3.0, 1.0, 3.0, 1.0, 2.0, 2.0]
    for loss, weights, before in (
        (first, [0, 0, 0], [0, 0, 0]),
        (first, [0, 0, 0], [1, 2, 3]),
        ([3.0, 0.5, 3.0, 0.7, 2.0, 2.0], [0, 0, 0], [1, 2, 3]),
        ([3.0, 0.5, 3.0, 0.7, 2.0, 2.0], [0, 0, 0], [0.6, 2, 3]),  # the fastest tier, drawn last, has improved
        ([1.0, 0.5, 1.0, 0.7, 2.0, 2.0], [0, 0, 0], [0.6, 2, 3]),
        ([1.0, 0.5, 1.0, 0.7, 2.0, 2.0], [1 / 6, 3 / 6, 2 / 6], [0.6, 2, 1]),  # it has not
    ):
        memory = selection.remember(memory, reports_of([1, 3], [1.0, 2.0]), view(memory, loss))
        assert memory[:3, WEIGHT] == pytest.approx(weights)
        assert memory[:3, LOSS_BEFORE] == pytest.approx(before)


@pytest.mark.oracle
def test_rounds_of_a_run_consist_of_one_tier():
    """Clocks that differ by 16: a round's participants wait less for each other than in random rounds."""
    world = {
        "rounds": 40,
        "data": {"dataset": "digits"},
        "devices": {"count": 20, "cpu_hz": {"choice": [1e7, 2e7, 4e7, 8e7, 1.6e8]}},
    }
    server = {"participants": 4, "selection": {"kind": "tifl", "tiers": 5}}
    tiered = edgefl.run({**world, "server": server}, train=False)
    uniform = edgefl.run({**world, "server": {"participants": 4}}, train=False)
    assert tiered.status == "finished", tiered.error
    first = tiered.devices[tiered.devices["round"] <= 5]
    assert sorted(first["device"]) == list(range(20))
    assert (tiered.rounds["selected"] == 4).all()

    def waiting(result):
        rows = result.devices[result.devices["round"] > 5]
        return (rows["wait_s"] / (rows["wait_s"] + rows["compute_s"])).mean()

    assert waiting(tiered) < 0.5 * waiting(uniform)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"tiers": 9}, "server.selection: tiers must be at most devices.count = 8, got 9"),
        ({"tiers": 2, "probabilities": [1.0]}, "probabilities: must have one number for each of 2 tiers, got 1"),
        ({"adaptive": True}, "server.selection: tifl chooses by losses, which a run without learning"),
    ],
)  # fmt: skip
def test_wrong_keys_are_one_line(keys, message):
    with pytest.raises(edgefl.InputError, match=message):
        edgefl.run({"devices": {"count": 8}, "server": {"selection": {"kind": "tifl", **keys}}}, train=False)
