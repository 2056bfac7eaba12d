"""The bandit: its indices by hand, its regret over many rounds, and the shares that its queues grant."""

from __future__ import annotations

import numpy as np
import pytest
from forecast_cases import view_with

import edgefl
from edgefl.coordination.selection.bandit import DEBT, LONGEST_S, RECEIVED, TRIPS_S, Bandit
from edgefl.coordination.server_view import DeviceReports, DeviceTracker
from edgefl.core.streams import Streams


def reports_of(ids, trip_s, received=None):
    some = np.ones(len(ids))
    arrived = np.ones(len(ids), dtype=bool) if received is None else np.array(received)
    return DeviceReports(np.array(ids, dtype=int), arrived, np.array(trip_s, dtype=float), some, some, some)


def after(selection, *rounds):
    memory = np.zeros((3, selection.memory_width))
    for each in rounds:
        memory = selection.remember(memory, each, view_with(samples=[1, 1, 1]))
    return memory


TRACE = (reports_of([0, 1], [2.0, 4.0]), reports_of([0, 1], [4.0, 10.0], [True, False]), reports_of([0], [1.0]))


def test_indices_by_hand():
    """t_max = 10: device 0 has rewards 0.8, 0.6, 0.9 and device 1 has 0.6 and 0, as its second update was lost."""
    memory = after(Bandit(), *TRACE)
    index = Bandit().indices(memory, 3, 2)
    assert index[:2] == pytest.approx([2.3 / 3 + np.sqrt(3 * np.log(3) / 3), 0.3 + np.sqrt(3 * np.log(3) / 2)])
    assert index[2] == np.inf
    cut = Bandit(max_round_trip_s=3.0)  # rewards 1/3, 0, 2/3 and 0, 0
    assert cut.indices(after(cut, *TRACE), 3, 2)[:2] == pytest.approx(
        [1 / 3 + np.sqrt(3 * np.log(3) / 3), np.sqrt(3 * np.log(3) / 2)]
    )


def test_indices_with_queues_by_hand():
    """Queues with c = 0.5: device 0 took part in all rounds, device 1 in two of three, device 2 in none."""
    fair = Bandit(variant="cs-ucb-q", share=0.5, beta=0.25)
    memory = after(fair, *TRACE)
    assert memory[:, DEBT].tolist() == [0.0, 0.5, 1.5]
    index = fair.indices(memory, 3, 2)
    bound = np.minimum([2.3 / 3 + np.sqrt(2 * np.log(3) / 3), 0.3 + np.sqrt(2 * np.log(3) / 2)], 1.0)
    assert index[:2] == pytest.approx(0.75 * bound + 0.25 * np.array([0.0, 0.5]))
    assert index[2] == pytest.approx(0.75 * 1.0 + 0.25 * 1.5)  # new: nothing speaks against the highest reward


def test_new_devices_come_first():
    view = view_with(samples=[1, 1, 1], memory=after(Bandit(), *TRACE))
    assert Bandit().choose(np.arange(3), 1, 3, Streams(1), view).tolist() == [2]
    assert Bandit().choose(np.array([0, 1]), 1, 3, Streams(1), view).tolist() == [0]


def test_with_queues_debts_come_before_new_devices():
    """A slow device that owes 4 rounds has 0.075 + 1, a fast one without debt 0.675, a new one 0.75 + 0.125."""
    fair = Bandit(variant="cs-ucb-q", share=0.5, beta=0.25)
    memory = np.zeros((3, fair.memory_width))
    memory[:2, RECEIVED] = [1.0, 6.0]
    memory[:2, TRIPS_S] = [9.0, 6.0]
    memory[:2, LONGEST_S] = [10.0, 2.0]
    memory[:, DEBT] = [4.0, 0.0, 0.5]
    view = view_with(samples=[1, 1, 1], memory=memory)
    assert fair.choose(np.arange(3), 1, 6, Streams(1), view).tolist() == [0]
    assert fair.choose(np.array([1, 2]), 1, 6, Streams(1), view).tolist() == [2]


TRIP_S = np.array([1.0, 1.2, 1.4, 7.0, 7.2, 7.4, 7.6, 7.8, 8.0, 8.4])


def play(selection, rounds, participants, seed, presence=1.0):
    """Count each device's choices by then [rounds, devices]; round trips are uniform, 20 % around their mean."""
    rng = np.random.default_rng(seed)
    tracker = DeviceTracker(np.ones(len(TRIP_S), dtype=int), selection.memory_width)
    times = np.zeros((rounds, len(TRIP_S)))
    for index in range(rounds):
        present = np.flatnonzero(rng.random(len(TRIP_S)) < presence)
        wanted = min(participants, len(present))
        ids = np.sort(selection.choose(present, wanted, index, Streams(seed), tracker.view))
        times[index:, ids] += 1
        heard = tracker.close_round(reports_of(ids, TRIP_S[ids] * rng.uniform(0.8, 1.2, len(ids))))
        tracker.keep(selection.remember(tracker.view.memory, heard, tracker.view))
    return times


@pytest.mark.oracle
def test_regret_grows_as_the_logarithm():
    """Rounds with a slow device: within the bound of Xia et al.'s kind, and in ten times the rounds hardly more.

    A slow device is chosen only while its mean and bound exceed those of a fast one: z <= 4 (m + 1) ln r / gap^2, the
    step in the proof of UCB1 (Auer et al., 2002). The gap in reward of devices 3 and 2 is 5.6 / t_max.
    """
    rounds = 3000
    participants = 3
    times = play(Bandit(max_round_trip_s=10.2), rounds, participants, seed=4)
    slow = times[:, 3:]
    gap = (TRIP_S[3:] - TRIP_S[2]) / 10.2
    bound = 4 * (participants + 1) * np.log(rounds) / gap**2 + 1
    assert (slow[-1] <= bound).all()
    regret = slow.sum(axis=1)
    # The last two thirds of the rounds add less than half; at a constant rate they would add twice as much.
    assert regret[-1] < 1.5 * regret[rounds // 3 - 1]
    late = times[-1] - times[rounds // 2]
    assert late[:3].min() > 2 * late[3:].max()


@pytest.mark.oracle
def test_queues_guarantee_shares():
    """Every device takes part in its share of the rounds, within its queue; without one slow ones do not."""
    rounds = 1500
    fair = play(
        Bandit(variant="cs-ucb-q", share=0.2, beta=0.05, max_round_trip_s=10.2), rounds, 3, seed=3, presence=0.8
    )
    assert fair[-1].min() / rounds > 0.2 - 0.02
    assert fair[-1][:3].mean() > 1.5 * fair[-1][3:].mean()
    greedy = play(Bandit(variant="cs-ucb-q", share=0.0, max_round_trip_s=10.2), rounds, 3, seed=3, presence=0.8)
    assert greedy[-1].min() / rounds < 0.1


def test_debts_follow_from_the_recorded_rounds():
    """D >= c rounds - times chosen, as the queue never falls below that sum."""
    selection = Bandit(variant="cs-ucb-q", share=0.25, beta=0.1)
    rng = np.random.default_rng(0)
    memory = np.zeros((6, selection.memory_width))
    times = np.zeros(6)
    for number in range(1, 50):
        ids = np.flatnonzero(rng.random(6) < 0.3)
        memory = selection.remember(
            memory, reports_of(ids, np.ones(len(ids))), view_with(samples=np.ones(6, dtype=int))
        )
        times[ids] += 1
        assert (memory[:, DEBT] >= 0.25 * number - times - 1e-12).all()


def test_impossible_shares_are_one_line():
    text = r"server.selection: share must be at most server.participants / devices.count = 0.2, got 0.3"
    selection = {"kind": "bandit", "variant": "cs-ucb-q", "share": 0.3}
    with pytest.raises(edgefl.InputError, match=text):
        edgefl.run({"devices": {"count": 10}, "server": {"participants": 2, "selection": selection}}, train=False)
