"""Devices of different rounds under way together: arrivals and ages, no lost updates, and the resulting models."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from radio_cases import SLOT_S, STILL
from server_cases import ENERGY, TIMES

import edgefl
from edgefl.coordination.policies.buffered import MOST_FAILURES
from edgefl.learning.algorithms import LocalContext, Updates
from edgefl.learning.algorithms.fedasync import FedAsync
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.fedbuff import FedBuff
from edgefl.learning.algorithms.fedprox import FedProx
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load

PARAMETERS = 100  # sent in a slot
FLOPS = 1e5  # of a round's training
ASYNCHRONOUS = {"policy": "asynchronous"}
KEEP = {"policy": {"kind": "deadline", "late": "keep"}}
FUNCTIONS = [(0.5, 1.0), (1.0, -2.0), (0.25, 0.5)]
LR = 0.1
STEPS = 2
X0 = 10.0


def buffered(buffer):
    return {"policy": {"kind": "buffered", "buffer": buffer}}


def clocks_hz(parts_slots):
    """Clocks that let a participation take so many slots: one down, one up, and computing in between."""
    return [FLOPS / ((slots - 2.2) * SLOT_S) for slots in parts_slots]


def scenario(folder, parts_slots, server, **changes):
    """Functions a x^2 + b x for devices whose parts take `parts_slots`; transfers of one slot, whatever else sends."""
    (folder / "devices.csv").write_text("\n".join(["cpu_hz", *map(repr, clocks_hz(parts_slots))]) + "\n")
    functions = [FUNCTIONS[i % 3] for i in range(len(parts_slots))]
    return {
        "rounds": 7,
        "data": {"dataset": "quadratic", "coefficients": [[a, b, 0] for a, b in functions]},
        "model": {
            "init": {"kind": "value", "value": X0},
            "cost": {"parameters": PARAMETERS, "flops_per_parameter": FLOPS / PARAMETERS / STEPS},
        },
        "training": {"local_steps": STEPS, "batch_size": "full", "lr": LR, "engine": "serial"},
        "algorithm": {"kind": "fedbuff", "exponent": 1.0},
        "devices": {"cpu_hz": {"file": str(folder / "devices.csv"), "column": "cpu_hz"}, "flops_per_cycle": 1.0},
        "radio": {**STILL, "bandwidth_hz": 10e9, "sharing": "processor"},
        "server": server,
        **changes,
    }


class Driven:
    """A run that notes when devices were sent models, and the ages of the updates that it learned from."""

    def __init__(self, keys, *, train=False):
        self.sent = []
        self.learned = []
        self.processes = []
        scenario = load(keys)
        self.server = server = build(scenario, "cpu", train=train, progress=silent)
        dispatch = server.dispatch
        self.under_way = []  # after each sending, and how many updates wait then

        def noting(ids):
            self.sent += [(server.env.now, int(device)) for device in ids]
            begun = dispatch(ids)
            self.processes += begun
            self.under_way.append((sum(one.is_alive for one in self.processes), server.received()))
            return begun

        server.dispatch = noting
        if train:
            aggregate = server.replay.model.learner.aggregate

            def learning(state, updates):
                self.learned.append(dict(zip(updates.ids.tolist(), updates.staleness.tolist(), strict=True)))
                return aggregate(state, updates)

            server.replay.model.learner.aggregate = learning
        server.env.run(server.env.process(scenario.server.policy.run(server)))
        server.replay.finish()
        server.replay.close()
        self.rounds = pd.DataFrame(server.ledger.round_columns())
        self.devices = pd.DataFrame(server.ledger.device_columns())
        self.events = pd.DataFrame(server.ledger.event_columns())

    @property
    def slots(self):
        """Ends of rounds."""
        return (self.rounds["time_s"].to_numpy() / SLOT_S).round(6).tolist()


# Hand-computed: three devices whose parts take 10, 16 and 35 slots, all under way

CASES = {  # ends of rounds in slots, and whose updates of which age are learned from
    "asynchronous": (
        ASYNCHRONOUS,
        [10, 16, 20, 30, 32, 35, 40],
        [{0: 0}, {1: 1}, {0: 1}, {0: 0}, {1: 2}, {2: 5}, {0: 2}],
    ),
    "buffer of 2": (
        buffered(2),
        [16, 32, 42, 52, 68, 78, 88],  # 0 waits for 1, 2 for 0, 1 for 0, 0 for 1, 2 for 0, 1 for 0
        [{0: 0, 1: 0}, {0: 0, 1: 0}, {0: 0, 2: 2}, {0: 0, 1: 1}, {0: 0, 1: 0}, {0: 0, 2: 2}, {0: 0, 1: 1}],
    ),
    "buffer of 3": (
        buffered(3),
        [35, 70, 105],
        [{0: 0, 1: 0, 2: 0}] * 3,
    ),
    "a buffer that cannot be filled": (
        buffered(10),
        [35, 70, 105],
        [{0: 0, 1: 0, 2: 0}] * 3,
    ),
    "kept after 12 slots": (
        {**KEEP, "deadline_s": 12 * SLOT_S},
        [12, 24, 36, 48, 60, 71],  # in the last all are in before the deadline
        [{0: 0}, {0: 0, 1: 1}, {0: 0, 2: 2}, {0: 0, 1: 1}, {0: 0}, {0: 0, 1: 1, 2: 2}],
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_arrivals_and_ages_by_hand(case, tmp_path):
    server, ends, learned = CASES[case]
    run = Driven(scenario(tmp_path, [10, 16, 35], server, rounds=len(ends)), train=True)
    assert run.slots == ends
    assert run.learned == learned
    assert run.rounds["received"].tolist() == [len(each) for each in learned]
    assert run.rounds["staleness"].tolist() == [np.mean(list(each.values())) for each in learned]
    weights = [np.mean([1 / (1 + age) for age in each.values()]) for each in learned]
    assert run.rounds["staleness_weight"].to_numpy() == pytest.approx(weights, rel=1e-12)


def models(learned, rule):
    """The models after each aggregation of the updates and ages in `learned`; `rule` makes the next."""
    past = [X0]
    for ages in learned:
        starts = {device: past[len(past) - 1 - age] for device, age in ages.items()}
        past.append(rule(past[-1], [(ages[i], starts[i], locally(starts[i], i)) for i in sorted(ages)]))
    return past[1:]


def locally(x, device, steps=STEPS, lr=LR):
    a, b = FUNCTIONS[device % 3]
    for _ in range(steps):
        x -= lr * (2 * a * x + b)
    return x


def mixed(alpha, discount):
    def rule(x, parts):
        for age, _, model in parts:
            x = (1 - alpha * discount(age)) * x + alpha * discount(age) * model
        return x

    return rule


def mean_move(lr, discount):
    return lambda x, parts: x + lr * np.mean([discount(age) * (model - start) for age, start, model in parts])


RULES = {
    "fedasync": ({}, mixed(0.6, lambda age: (1 + age) ** -0.5)),
    "constant": ({"mixing": 0.3, "staleness": "constant"}, mixed(0.3, lambda _: 1.0)),
    "polynomial": ({"mixing": 1.0, "exponent": 2.0}, mixed(1.0, lambda age: (1 + age) ** -2)),
    "hinge": (
        {"staleness": "hinge", "hinge_slope": 3.0, "hinge_start": 1.0},
        mixed(0.6, lambda age: 1.0 if age <= 1 else 1 / (3 * (age - 1) + 1)),
    ),
    "fedbuff": ({"kind": "fedbuff"}, mean_move(1.0, lambda age: (1 + age) ** -0.5)),
    "fedbuff_slow": (
        {"kind": "fedbuff", "exponent": 1.5, "server_lr": 0.4},
        mean_move(0.4, lambda age: (1 + age) ** -1.5),
    ),
}


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("case", ["asynchronous", "buffer of 2", "kept after 12 slots"])
def test_models_follow_from_ages_computed_by_hand(case, rule, tmp_path):
    """Each device trains from the model that it was sent, which is as old as the table says."""
    server, _, learned = CASES[case]
    keys, step = RULES[rule]
    keys = scenario(tmp_path, [10, 16, 35], server, rounds=len(learned), algorithm={"kind": "fedasync", **keys})
    found = edgefl.run(keys, device="cpu").rounds["parameter"]
    assert found.to_numpy() == pytest.approx(models(learned, step), rel=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ["serial", "batched"])
def test_devices_with_models_of_different_ages_train_together(engine, tmp_path):
    """In one cohort; the learning rate's schedule counts aggregations, as the age does, and not dispatches."""
    training = {"local_steps": STEPS, "batch_size": "full", "lr": LR, "engine": engine}
    training["lr_schedule"] = {"kind": "exponential", "decay": 0.5}
    server = {**buffered(3), "participants": 3}
    run = Driven(scenario(tmp_path, [10, 16, 35, 12, 21], server, training=training), train=True)
    past = [X0]
    for ages in run.learned:
        moves = []
        for i, age in sorted(ages.items()):
            version = len(past) - 1 - age
            moves.append((locally(past[version], i, lr=LR * 0.5**version) - past[version]) / (1 + age))
        past.append(past[-1] + np.mean(moves))
    assert any(len(set(ages.values())) > 1 for ages in run.learned)
    assert len(run.under_way) > len(run.rounds)  # some were sent between two aggregations
    assert run.rounds["parameter"].to_numpy() == pytest.approx(past[1:], rel=1e-12)


# Limits


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", [{"kind": "fedavg", "weighting": "uniform"}, {"kind": "fedbuff"}])
def test_buffer_for_equally_fast_devices_is_synchronous(algorithm, tmp_path):
    """Also where they are at different distances and arrive one by one: no device is replaced before the last is in."""
    changes = {"algorithm": algorithm, "rounds": 5, "radio": {"bandwidth_hz": 1e6, "sharing": "processor"}}
    one = edgefl.run(scenario(tmp_path, [20] * 4, buffered(4), **changes), device="cpu")
    other = edgefl.run(scenario(tmp_path, [20] * 4, {"policy": "synchronous"}, **changes), device="cpu")
    assert one.rounds.equals(other.rounds)
    assert one.devices.equals(other.devices)
    assert one.events.equals(other.events)
    assert one.devices["wait_s"].max() > 0


@pytest.mark.oracle
def test_a_buffer_of_one_is_asynchronous(tmp_path):
    def run(server):
        return edgefl.run(scenario(tmp_path, [10, 16, 35, 12], server, rounds=9), device="cpu")

    one = run({**buffered(1), "participants": 2})
    other = run({**ASYNCHRONOUS, "participants": 2})
    assert one.rounds.equals(other.rounds)
    assert one.devices.equals(other.devices)
    assert one.events.equals(other.events)


def test_fedasync_with_one_device_under_way_and_mixing_1_goes_on_with_its_sgd(tmp_path):
    """Seven rounds of two steps are fourteen steps."""
    algorithm = {"kind": "fedasync", "mixing": 1.0, "staleness": "constant"}
    result = edgefl.run(scenario(tmp_path, [10], ASYNCHRONOUS, algorithm=algorithm), device="cpu")
    expected = [locally(X0, 0, steps=2 * (1 + number)) for number in range(7)]
    assert result.rounds["parameter"].to_numpy() == pytest.approx(expected, rel=1e-13)
    assert (result.rounds["staleness"] == 0).all()


@pytest.mark.oracle
@pytest.mark.parametrize("server_lr", [1.0, 0.5])
def test_fedbuff_without_discount_is_uniform_fedavg_when_synchronous(server_lr, tmp_path):
    """And with half the server's learning rate it goes half the way."""
    server = {"selection": {"kind": "schedule", "rounds": [[0, 1], [1, 2], [0, 1, 2]]}}
    keys = {"rounds": 1 if server_lr < 1 else 7}
    algorithm = {"kind": "fedbuff", "exponent": 0.0, "server_lr": server_lr}
    fedbuff = edgefl.run(scenario(tmp_path, [10, 16, 35], server, algorithm=algorithm, **keys))
    algorithm = {"kind": "fedavg", "weighting": "uniform"}
    fedavg = edgefl.run(scenario(tmp_path, [10, 16, 35], server, algorithm=algorithm, **keys))
    moved = X0 + server_lr * (fedavg.rounds["parameter"] - X0)
    assert fedbuff.rounds["parameter"].to_numpy() == pytest.approx(moved.to_numpy(), rel=1e-13)


class TestArithmetic:
    """On vectors."""

    W = torch.tensor([1.0, -2.0, 4.0], dtype=torch.float64)
    MODELS = torch.tensor([[3.0, 0.0, 0.0], [-1.0, 2.0, 8.0]], dtype=torch.float64)

    def updates(self, ages=None, **vectors):
        """FedAsync's MODELS are moves from two other models than W."""
        starts = (self.W + 1, self.W - 3)
        if not vectors:
            vectors = {"delta": self.MODELS - torch.stack(starts)}
        return Updates(vectors, np.array([2, 5]), np.array([1, 100]), 10, staleness=ages, starts=starts)

    def test_mixing_1_keeps_the_last_simultaneous_update(self):
        after = FedAsync(mixing=1.0).aggregate({"w": self.W}, self.updates())["w"]
        assert torch.equal(after, self.MODELS[1])

    def test_discounts_follow_their_formulas(self):
        """Xie et al., section 5.2: a = 0.5, or a = 10 and b = 4."""
        ages = np.array([0, 3, 4, 5, 8])
        assert FedAsync().discount(ages) == pytest.approx([1, 0.5, 5**-0.5, 6**-0.5, 1 / 3])
        assert FedAsync(staleness="hinge").discount(ages) == pytest.approx([1, 1, 1, 1 / 11, 1 / 41])
        assert FedAsync(staleness="constant").discount(ages).tolist() == [1] * 5

    def test_table_has_mean_weights_and_ages(self):
        """Ages 3 and 8 weigh 1/2 and 1/3, or 1 and 1/41."""
        this = self.updates(np.array([3, 8]))
        for algorithm, weight in ((FedAsync(), 5 / 12), (FedBuff(), 5 / 12), (FedAsync(staleness="hinge"), 21 / 41)):
            traced = algorithm.trace({"w": self.W}, this)
            assert traced == pytest.approx({"staleness": 5.5, "staleness_weight": weight})

    def test_pull_equals_fedprox(self):
        local = LocalContext(self.W, 0.1)
        w = self.MODELS[0]
        gradient = self.MODELS[1]
        assert torch.equal(FedAsync(mu=0.3).correct(gradient, w, local), FedProx(mu=0.3).correct(gradient, w, local))
        assert torch.equal(FedAsync().correct(gradient, w, local), FedAvg().correct(gradient, w, local))


# Nothing is lost


def starts_s(run):
    """Return the times at which the device of each row was sent its model."""
    return run.devices["start_s"].to_numpy()


def check_parts(run):
    """Every part that began is in one row; no device has two at a time; sums are sums."""
    devices = run.devices
    rounds = run.rounds
    begins = starts_s(run)
    rows = sorted(zip(begins.round(9).tolist(), devices["device"].tolist(), strict=True))
    sent = [(round(time_s, 9), device) for time_s, device in run.sent]
    assert len(rows) == len(set(rows)) or run.server.link.radio.faults.max_transfer_s is not None
    assert set(rows) <= set(sent)
    assert not any(process.is_alive for process in run.processes)
    assert len(rows) == len(sent)
    received = devices[devices["status"] == "received"]
    assert not received.duplicated(["round", "device"]).any()
    parts = devices.assign(begin=begins, end=begins + devices[TIMES].sum(axis=1)).sort_values(
        ["device", "begin", "end"]
    )
    same = parts["device"].to_numpy()[1:] == parts["device"].to_numpy()[:-1]
    assert (parts["begin"].to_numpy()[1:][same] >= parts["end"].to_numpy()[:-1][same] - 1e-9).all()
    waits = parts["end"].to_numpy() + parts["wait_s"].to_numpy()
    anew = np.append(np.where(same, parts["begin"].to_numpy()[1:], np.inf), np.inf)
    over = rounds["time_s"].to_numpy()[parts["round"] - 1]
    stays = (parts["status"] != "departed").to_numpy()
    assert waits[stays] == pytest.approx(np.minimum(anew, over)[stays])  # until it begins again, or the round is over
    by_round = devices.groupby("round")
    everyone = np.arange(1, len(rounds) + 1)
    for way in ("bytes_down", "bytes_up"):
        assert rounds[way].tolist() == by_round[way].sum().reindex(everyone, fill_value=0).tolist()
    spent = by_round[ENERGY].sum().sum(axis=1).reindex(everyone, fill_value=0.0)
    assert rounds["round_energy_j"].to_numpy() == pytest.approx(spent.to_numpy())
    assert rounds["energy_j"].iloc[-1] == pytest.approx(devices[ENERGY].to_numpy().sum())
    assert rounds["selected"].tolist() == by_round.size().reindex(everyone, fill_value=0).tolist()
    assert (received[["bytes_down", "bytes_up"]] >= run.server.payload.up_bits / 8).all(axis=None)


WORLD = {
    "data": {"dataset": "digits"},
    "model": {"kind": "mlp", "cost": {"parameters": 20_000, "flops_per_parameter": 5.0}},
    "training": {"local_steps": 1, "batch_size": 1},
    "rounds": 8,
}


@pytest.mark.oracle
@settings(max_examples=15, deadline=None)
@given(
    policy=st.sampled_from([ASYNCHRONOUS, buffered(2), buffered(3), buffered(9), {**KEEP, "deadline_s": 0.03}]),
    participants=st.integers(1, 7),
    cpu_hz=st.sampled_from([FLOPS / 0.0203, {"uniform": [2e6, 2e7]}]),
    bandwidth_hz=st.sampled_from([2e6, 10e9]),
    probability=st.sampled_from([0.0, 0.2]),
    seed=st.integers(0, 10**6),
)
def test_no_update_is_lost_and_all_places_are_busy(policy, participants, cpu_hz, bandwidth_hz, probability, seed):
    """Seven devices, some equally fast, so that many arrive together."""
    radio = {"bandwidth_hz": bandwidth_hz, "faults": {"failure_probability": probability}}
    devices = {"count": 7, "cpu_hz": cpu_hz, "flops_per_cycle": 1.0, "idle_power_w": 0.01}
    server = {**policy, "participants": participants}
    run = Driven({**WORLD, "seed": seed, "devices": devices, "radio": radio, "server": server})
    check_parts(run)
    assert len(run.rounds) == 8
    if policy["policy"] == "asynchronous" or policy["policy"]["kind"] == "buffered":
        buffer = 1 if policy["policy"] == "asynchronous" else policy["policy"]["buffer"]
        assert all(alive == min(participants, 7 - waiting) for alive, waiting in run.under_way)
        if probability == 0:
            assert (run.rounds["received"] >= min(buffer, 7)).all()
            if bandwidth_hz < 1e9 and not isinstance(cpu_hz, float):
                assert run.rounds["received"].max() <= min(buffer, 7) + 2  # more only when they arrive together


@pytest.mark.oracle
def test_late_devices_cost_the_same_as_alone(tmp_path):
    """Kept updates: bytes and energies of each part, whatever the rounds in which it begins and ends."""
    server = {**KEEP, "deadline_s": 12 * SLOT_S}
    devices = {"rx_power_w": 0.3, "idle_power_w": 0.01}
    keys = scenario(tmp_path, [10, 16, 35], server, rounds=40)
    run = Driven({**keys, "devices": {**keys["devices"], **devices}})
    check_parts(run)
    assert run.devices["status"].tolist() == 73 * ["received"] + ["unfinished"]
    run.devices = run.devices[:-1]
    assert run.devices.groupby("device").size().tolist() == [40, 20, 13]  # of 12, 24 and 36 slots
    computing_s = FLOPS / np.array(clocks_hz([10, 16, 35]))[run.devices["device"]]
    assert run.devices["compute_s"].to_numpy() == pytest.approx(computing_s)
    assert run.devices["rx_energy_j"].to_numpy() == pytest.approx(np.full(len(run.devices), 0.3 * SLOT_S))
    assert (run.devices[["bytes_down", "bytes_up"]] == 4 * PARAMETERS).all(axis=None)
    tx_power_w = 10 ** (2.3 - 3)
    assert run.devices["tx_energy_j"].to_numpy() == pytest.approx(np.full(len(run.devices), tx_power_w * SLOT_S))
    waits_s = run.devices["wait_s"] + 0.2 * SLOT_S  # an upload begins at the border of a slot
    assert run.devices["idle_energy_j"].to_numpy() == pytest.approx(0.01 * waits_s.to_numpy())


def test_a_device_under_way_is_not_asked_again(tmp_path):
    run = Driven(scenario(tmp_path, [10, 16, 35], {**KEEP, "deadline_s": 12 * SLOT_S}, rounds=5))
    sent = [(round(time_s / SLOT_S), device) for time_s, device in run.sent]
    asked = [(0, 0), (0, 1), (0, 2), (12, 0), (24, 0), (24, 1), (36, 0), (36, 2), (48, 0), (48, 1)]
    assert sorted(sent) == asked


def test_participations_under_way_at_the_end_are_cut_off(tmp_path):
    """The last of 7 arrives in slot 40: device 1 is at it since slot 32 then, and device 2 since slot 35.

    Each has what it has cost so far in the last row: a slot of downloading and the time of computing since.
    """
    devices = {"rx_power_w": 0.3, "capacitance": 1e-20}
    keys = scenario(tmp_path, [10, 16, 35], ASYNCHRONOUS)
    run = Driven({**keys, "devices": {**keys["devices"], **devices}}, train=True)
    check_parts(run)
    assert len(run.sent) == 3 + 6
    left = run.devices[run.devices["status"] == "unfinished"]
    assert left[["round", "device"]].to_numpy().tolist() == [[7, 1], [7, 2]]
    assert left["compute_s"].to_numpy() / SLOT_S == pytest.approx([7, 4])
    assert left["bytes_down"].tolist() == [4 * PARAMETERS] * 2
    assert left["rx_energy_j"].to_numpy() == pytest.approx(0.3 * SLOT_S)
    assert (left[["upload_s", "wait_s", "bytes_up", "tx_energy_j"]] == 0).all(axis=None)
    powers_w = 1e-20 * np.array(clocks_hz([16, 35])) ** 3
    assert left["cpu_energy_j"].to_numpy() == pytest.approx(powers_w * left["compute_s"])
    last = run.rounds.iloc[-1]
    assert (last["selected"], last["received"]) == (3, 1)
    assert run.events[run.events["kind"] == "unfinished"]["device"].tolist() == [1, 2]


# No deadlock


@pytest.mark.parametrize("server", [ASYNCHRONOUS, buffered(3)], ids=["asynchronous", "buffered"])
def test_round_without_arrivals_ends_after_many_failures(server, tmp_path):
    """MOST_FAILURES participations without effect for each device under way, and what ends at that moment besides."""
    radio = {**STILL, "bandwidth_hz": 1e5, "faults": {"max_transfer_s": SLOT_S}}
    run = Driven(scenario(tmp_path, [10] * 5, {**server, "participants": 2}, radio=radio, rounds=3))
    assert run.rounds["received"].tolist() == [0, 0, 0]
    assert run.rounds["failed"].tolist() == [2 * MOST_FAILURES] * 3
    assert run.slots == [MOST_FAILURES, 2 * MOST_FAILURES, 3 * MOST_FAILURES]
    check_parts(run)


@pytest.mark.oracle
def test_occasional_failures_do_not_end_the_wait():
    """Each part fails with 36 %: ten in a row, one in 27,000 times, would end it; ten in all do not."""
    radio = {"bandwidth_hz": 20e6, "faults": {"failure_probability": 0.2}}
    run = Driven({**WORLD, "devices": {"count": 40}, "radio": radio, "server": {**buffered(30), "participants": 1}})
    assert run.rounds["failed"].min() > MOST_FAILURES
    assert (run.rounds["received"] == 30).all()


@pytest.mark.oracle
@pytest.mark.parametrize("probability", [None, 0.9], ids=["as many as are free", "nearly all"])
def test_selection_may_choose_more_than_asked_for(probability):
    """Coins may send out more devices than there are places: then no device is sent until there is one."""
    server = {"participants": 2, "selection": {"kind": "bernoulli", "probability": probability}}
    for policy in (ASYNCHRONOUS, buffered(3)):
        run = Driven({**WORLD, "devices": {"count": 9}, "server": {**server, **policy}})
        check_parts(run)
        assert len(run.rounds) == 8
        assert max(alive for alive, _ in run.under_way) > 2


def test_a_schedule_refills_with_its_next_line(tmp_path):
    """The free devices of that line."""
    selection = {"kind": "schedule", "rounds": [[0, 1], [2], [0, 3]]}
    run = Driven(
        scenario(tmp_path, [10, 16, 35, 12], {**ASYNCHRONOUS, "participants": 2, "selection": selection}, rounds=3)
    )
    assert [(round(time_s / SLOT_S), device) for time_s, device in run.sent] == [
        (0, 0),
        (0, 1),
        (10, 2),
        (16, 0),
        (16, 3),
    ]
