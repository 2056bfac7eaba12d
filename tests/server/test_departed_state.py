"""The state of devices that have left: kept for their return, lost, or forgotten by the server, too."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from algorithm_cases import PARTIAL, Simulation, shipped
from server_cases import presence_trace
from session_cases import KEYS, SUMS, scalar

import edgefl
from edgefl.cli import main
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.feddisco import FedDisco
from edgefl.learning.algorithms.properties import can_forget
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.algorithms.steps import forget
from edgefl.learning.learner import Learner

CURVES = [[1.0, -4.0, 0.0], [0.5, 3.0, 0.0], [2.0, 1.0, 0.0], [1.5, -1.0, 0.0]]
ROUNDS = 9
GONE = 2  # the device that leaves in the middle of a round, and is back some rounds later
TRAINING = {"local_steps": 2, "batch_size": "full", "lr": 0.05, "engine": "serial"}
SAMPLES = (1, 2, 3, 4, 5)

# The servers' means


HOLDING = [
    *KEYS.values(),
    {"kind": "scaffold", "option": "I"},
    {"kind": "scaffold", "variant": "ssg_code"},
    {"kind": "fedvra", "variant": "ssg_code"},
    {"kind": "fedssg", "variant": "paper_main"},
    {"kind": "feddisco", "base": "feddyn"},
]


def mean_held(algorithm, clients, left_out=()):
    """Return the mean of all state by name, with forgotten devices as at the beginning."""
    omega = np.array(SAMPLES) / np.mean(SAMPLES)
    kept = []
    for i, state in enumerate(clients):
        fresh = algorithm.client_state(torch.zeros(4, dtype=torch.float64))
        kept.append(algorithm.share_in_means(fresh if i in left_out else state, float(omega[i])))
    return {name: torch.stack([each[name] for each in kept]).mean(dim=0) for name in kept[0]}


@pytest.mark.parametrize("case", HOLDING, ids=str)
def test_server_mean_matches_device_state_and_can_drop_it(case):
    algorithm = shipped(case)
    labels = np.arange(10).reshape(5, 2) + 1
    done = Simulation(algorithm, PARTIAL, SAMPLES, labels=labels)
    server = done.states[-1]
    omega = np.array(SAMPLES) / np.mean(SAMPLES)
    held = mean_held(algorithm, done.clients)
    assert held
    assert all(torch.allclose(server[name], mean, atol=1e-12) for name, mean in held.items())
    gone = np.array([1, 3])
    after = forget(
        algorithm, server, gone, [algorithm.share_in_means(done.clients[i], float(omega[i])) for i in gone], 5
    )
    for name, mean in mean_held(algorithm, done.clients, (1, 3)).items():
        assert torch.allclose(after[name], mean, atol=1e-12)
        assert not torch.allclose(after[name], server[name], atol=1e-3)
    assert torch.equal(after["w"], server["w"])


@pytest.mark.parametrize("kind", ["mifa", "fedar", "fedvarp"])
def test_rows_of_forgotten_devices_are_as_at_the_beginning(kind):
    algorithm = shipped({"kind": kind})
    done = Simulation(algorithm, PARTIAL)
    after = forget(algorithm, done.states[-1], np.array([3]), [algorithm.share_in_means(done.clients[3], 1.0)], 5)
    for name in algorithm.device_rows(after["w"]):
        assert torch.equal(after[name][3], done.states[0][name][3])
        assert not torch.equal(done.states[-1][name][3], done.states[0][name][3])
        assert torch.equal(after[name][:3], done.states[-1][name][:3])


# In rounds


def away(tmp_path, algorithm="scaffold", departed_state="kept", **changes):
    """All four take part in each round, but one leaves and comes back; a round lasts as long as in `scalar`."""
    pace_s = float(scalar(None, CURVES, rounds=1, training=TRAINING, algorithm=algorithm).rounds["time_s"].iloc[0])
    rows = [(device, 0.0, float("inf")) for device in range(4) if device != GONE]
    rows += [(GONE, 0.0, 3.5 * pace_s), (GONE, 6.5 * pace_s, float("inf"))]
    keys = {"rounds": ROUNDS, "training": TRAINING, "churn": presence_trace(tmp_path, sorted(rows)), **changes}
    return scalar(None, CURVES, algorithm=algorithm, server={"departed_state": departed_state}, **keys)


@pytest.mark.oracle
def test_device_leaves_and_returns(tmp_path):
    devices = away(tmp_path).devices
    mine = devices[devices["device"] == GONE]
    received = mine.loc[mine["status"] == "received", "round"].tolist()
    assert max(np.diff(received)) > 2
    assert (received[0], received[-1]) == (1, ROUNDS)


@pytest.mark.oracle
@pytest.mark.parametrize("departed_state", ["kept", "lost", "forgotten"])
@pytest.mark.parametrize("name", SUMS)
def test_returning_device_has_the_state_that_the_key_says(name, departed_state, tmp_path, seen):
    """And the server meanwhile has the mean of the devices' state, if neither or both drop it."""
    away(tmp_path, KEYS[name], departed_state)
    there = [number for number, (_, heard, *_) in enumerate(seen) if GONE in heard]
    (left, back), *more = [pair for pair in pairwise(there) if pair[1] - pair[0] > 1]
    assert not more
    before = seen[back][4]
    last = seen[left][3]
    others = [device for device in range(4) if device != GONE]
    for own, mean in SUMS[name].items():
        assert last[own][GONE].abs().max() > 1e-3
        assert torch.equal(before[own][GONE], last[own][GONE] if departed_state == "kept" else 0 * last[own][GONE])
        assert torch.equal(before[own][others], seen[back - 1][3][own][others])
        for number, (_, _, server, devices, _) in enumerate(seen):
            gap = server[mean] - devices[own].mean(dim=0)
            orphaned = departed_state == "lost" and number > left + 1  # what the server keeps of it stays
            assert torch.allclose(gap, last[own][GONE] / 4 if orphaned else 0 * gap, atol=1e-12), number


@pytest.mark.oracle
def test_error_feedback_is_lost_too(tmp_path, monkeypatch):
    before = []
    collect = Learner.collect

    def watched(self, where=None):
        store = self._states.compression.lost
        heard = [job.device for job in self._pending]
        before.append((heard, None if store is None else store.gather(np.arange(4))["delta"][:, 0].abs().tolist()))
        return collect(self, where)

    monkeypatch.setattr(Learner, "collect", watched)
    codec = {"kind": "float16", "error_feedback": True}
    away(tmp_path, "fedavg", "lost", training={**TRAINING, "codec": codec})
    there = [number for number, (heard, _) in enumerate(before) if GONE in heard]
    left, back = max(pairwise(there), key=lambda pair: pair[1] - pair[0])
    assert back - left > 2
    assert before[left][1][GONE] > 0 == before[back][1][GONE] < before[back][1][0]


@pytest.mark.oracle
def test_without_departures_nothing_changes(tmp_path):
    results = [
        scalar(None, CURVES, rounds=4, algorithm="feddyn", training=TRAINING, server={"departed_state": how})
        for how in ("kept", "lost", "forgotten")
    ]
    assert all(np.array_equal(results[0].parameters, each.parameters) for each in results)


@pytest.mark.oracle
def test_algorithms_without_device_state_lose_nothing(tmp_path):
    kept, lost = (away(tmp_path, "fedavg", how) for how in ("kept", "forgotten"))
    assert np.array_equal(kept.parameters, lost.parameters)


@pytest.mark.oracle
def test_departing_groups_lose_state_too(seen):
    """SCAFFOLD whose control variates outlast sessions, three of two groups: c_i of the first group is gone."""
    sessions = {"count": 3, "rounds": 2, "groups": 2, "keep_state": True}
    for how in ("kept", "forgotten"):
        seen.clear()
        scalar(sessions, CURVES, algorithm="scaffold", training=TRAINING, server={"departed_state": how})
        begins = {(place.session, place.round): before["c"] for place, _, _, _, before in seen}
        there = seen[0][1]
        assert (begins[3, 1][there].abs().max() == 0) == (how == "forgotten")
        for _, _, server, devices, _ in seen:
            assert torch.allclose(server["c"], devices["c"].mean(dim=0), atol=1e-12)


@pytest.mark.oracle
def test_lasting_payload_is_sent_again(tmp_path):
    """The teacher goes to a device once a session, and once more after it has lost it."""
    sent = {}
    for how in ("kept", "lost"):
        sessions = {"count": 2, "rounds": ROUNDS, "initialisation": {"kind": "continuous"}}
        pace_s = float(digits(sessions).rounds["time_s"].iloc[ROUNDS - 1]) / ROUNDS
        begins_s = pace_s * ROUNDS
        rows = [(device, 0.0, float("inf")) for device in range(3)]
        rows += [(3, 0.0, begins_s + 3.5 * pace_s), (3, begins_s + 5.5 * pace_s, float("inf"))]
        devices = digits(sessions, churn=presence_trace(tmp_path, rows), server={"departed_state": how}).devices
        mine = devices[(devices["session"] == 2) & (devices["device"] == 3) & (devices["status"] == "received")]
        sent[how] = mine["bytes_down"].tolist()
        assert {3, 8} <= set(mine["round"])
    model = min(sent["kept"])
    assert sent["kept"] == [2 * model, *[model] * (len(sent["kept"]) - 1)]
    assert sorted(sent["lost"])[-2:] == [2 * model] * 2
    assert sum(sent["lost"]) == sum(sent["kept"]) + model


def digits(sessions, **changes):
    base = {
        "sessions": sessions,
        "data": {"dataset": "digits", "partition": "iid"},
        "model": "logistic",
        "training": {"local_steps": 1, "batch_size": 10, "engine": "serial"},
        "devices": {"count": 4},
        "radio": {"transfer": "fast", "bandwidth_hz": 1e6},
    }
    return edgefl.run({**base, **changes}, device="cpu", train=False)


# Refusals


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "server: {departed_state: forgotten}\nalgorithm: {kind: scaffold, variant: dyn}",
            ":1: server.departed_state: this variant of scaffold keeps no mean of the devices' states: set it to lost",
        ),
    ],
)
def test_contradictory_departed_state_is_refused(lines, message, tmp_path, capsys):
    path = tmp_path / "scenario.yaml"
    path.write_text(lines + "\n")
    assert main(["validate", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_algorithms_that_can_forget_devices():
    assert not can_forget(Scaffold(variant="eve_code"))
    assert can_forget(FedDisco(base=Scaffold()))
    assert all(can_forget(ALGORITHMS.load(name)()) for name in ALGORITHMS.members)
