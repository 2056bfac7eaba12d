"""Drift plus penalty: the choice against all subsets, queues against recorded energies, and the limits of V."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from forecast_cases import forecast_with, view_with

import edgefl
from edgefl.coordination.selection.lyapunov import Lyapunov
from edgefl.core.streams import Streams

pytestmark = pytest.mark.oracle

SPENT = ["rx_energy_j", "cpu_energy_j", "tx_energy_j"]
DEVICES = 10
BUDGET_J = 1e-3  # a participation takes about ten times as much
WORLD = {
    "data": {"dataset": "digits"},
    "devices": {"count": DEVICES, "cpu_hz": {"uniform": [5e8, 1e9]}},
    "radio": {"bandwidth_hz": 1e6},
}

queues: list[np.ndarray] = []


class Noting(Lyapunov):
    """Keeps all its memories (test)."""

    def remember(self, memory, reports, view):
        after = super().remember(memory, reports, view)
        queues.append(after[:, 0])
        return after


def run(rounds, v, **changes):
    queues.clear()
    server = {
        "participants": 4,
        "csi": {"kind": "perfect", "report_bits": 0},
        "selection": Noting(budget_j=BUDGET_J, v=v),
    }
    result = edgefl.run({**WORLD, "rounds": rounds, "server": server, **changes}, train=False)
    assert result.status == "finished", result.error
    return result


def energies(result, rounds):
    """Return the energy that each device has spent in each round [devices, rounds]."""
    rows = result.devices
    spent_j = np.zeros((DEVICES, rounds))
    np.add.at(spent_j, (rows["device"], rows["round"] - 1), rows[SPENT].sum(axis=1))
    return spent_j


def test_the_choice_beside_all_subsets():
    rng = np.random.default_rng(2)
    for trial in range(30):
        energy_j = rng.uniform(0.1, 2, 8)
        debt_j = rng.uniform(0, 3, 8) * (rng.random(8) < 0.8)
        samples = rng.integers(1, 9, 8)
        forecast = forecast_with(upload_s=np.ones(8), tx_w=energy_j)
        view = view_with(forecast, samples=samples, memory=debt_j[:, None])
        selection = Lyapunov(budget_j=1.0, v=float(rng.uniform(0.1, 4)), utility=("equal", "samples")[trial % 2])
        utility = samples / samples.mean() if trial % 2 else np.ones(8)
        weight = debt_j * energy_j - selection.v * utility
        subsets = (list(some) for count in range(4) for some in itertools.combinations(range(8), count))
        best = min(weight[some].sum() for some in subsets)
        chosen = selection.choose(np.arange(8), 3, trial, Streams(1), view)
        assert weight[chosen].sum() == pytest.approx(best)


@pytest.mark.parametrize("faults", [{}, {"faults": {"failure_probability": 0.3}}], ids=["sure", "faults"])
def test_mean_energy_exceeds_the_budget_by_the_queue_at_most(faults):
    """Q is at least the sum of E - budget; each queue is this recursion over the energies that were reported."""
    rounds = 80
    result = run(rounds, 2e-4, radio={**WORLD["radio"], **faults})
    spent_j = energies(result, rounds)
    heard = np.zeros((DEVICES, rounds), dtype=bool)
    rows = result.devices[result.devices["status"] == "received"]
    heard[rows["device"], rows["round"] - 1] = True
    if not faults:
        assert heard.sum() == len(result.devices)
    owed_j = np.zeros(DEVICES)
    debt_j = np.zeros(DEVICES)
    reported_j = np.zeros(DEVICES)
    for number in range(rounds):
        owed_j += spent_j[:, number]
        told_j = np.where(heard[:, number], owed_j, 0.0)
        owed_j -= told_j
        reported_j += told_j
        debt_j = np.maximum(debt_j + told_j - BUDGET_J, 0.0)
        assert queues[number] == pytest.approx(debt_j)
        assert (reported_j / (number + 1) - BUDGET_J <= queues[number] / (number + 1) + 1e-12).all()
    assert (spent_j.sum(axis=1) / rounds > 0.5 * BUDGET_J).all()


def test_the_excess_falls_as_one_over_the_rounds():
    """A device is chosen only while Q E < V, so that Q never exceeds V / least E + greatest E."""
    v = 1e-4
    for rounds in (30, 120):
        spent_j = energies(run(rounds, v), rounds)
        least_j = spent_j[spent_j > 0].min()
        bound_j = v / least_j + spent_j.max()
        assert max(queue.max() for queue in queues) <= bound_j
        assert (spent_j.mean(axis=1) - BUDGET_J <= bound_j / rounds).all()


def test_with_small_v_only_devices_without_debt_take_part():
    rounds = 40
    result = run(rounds, 1e-12)
    for number in range(1, rounds):
        chosen = result.devices.loc[result.devices["round"] == number + 1, "device"]
        assert (queues[number - 1][chosen] == 0).all()
    assert (result.rounds["selected"] < 4).any()


def test_with_large_v_debts_do_not_matter():
    result = run(20, 1e12)
    assert (result.rounds["selected"] == 4).all()
    assert energies(result, 20).mean() > 2 * BUDGET_J


def test_more_utility_costs_more_debt():
    """Neely's trade: O(1/V) from the best utility, O(V) of debt."""
    taken = []
    owed = []
    for v in (1e-6, 1e-4, 1e-2):
        taken.append(run(40, v).rounds["selected"].sum())
        owed.append(queues[-1].sum())
    assert taken == sorted(taken)
    assert owed == sorted(owed)
    assert taken[0] < taken[-1]
