"""The clock of the learning rate while an algorithm waits for devices: updates, as in MIFA's program, or rounds."""

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.algorithms.mifa import Mifa
from edgefl.runs.learning_key import learning_setting, rounds_matter
from edgefl.scenario.load import load

CURVATURES = np.array([1.0, 2.0, 4.0])
OPTIMA = np.array([1.0, -1.0, 3.0])
LR = 0.05
SCHEDULE = [[0, 1], [3], [2], [0], [1, 2], [0, 1, 2]]  # device 3 is never present, so nobody is heard in round 2
WAITS = {"kind": "fedavg", "max_participants": 3, "mode": "wait"}
MIFA = {"kind": "mifa", "wait": True}


@pytest.fixture
def present(tmp_path):
    """Devices 0 to 2 are always present, device 3 never."""
    path = tmp_path / "there.csv"
    path.write_text("device,on_s,off_s\n0,0,inf\n1,0,inf\n2,0,inf\n")
    return {"kind": "trace", "path": str(path)}


def scenario(algorithm, schedule=SCHEDULE, *, clock=None, kind="inv_t", devices=3, **more):
    """Two local steps on a/2 (x - b)^2 from x = 0; device 3, where there is one, is like device 0."""
    functions = [[a / 2, -a * b, a * b * b / 2] for a, b in zip(CURVATURES, OPTIMA, strict=True)]
    training = {"local_steps": 2, "batch_size": "full", "lr": LR, "engine": "serial", "lr_schedule": {"kind": kind}}
    if clock:
        training["lr_clock"] = clock
    return {
        "rounds": len(schedule),
        "data": {"dataset": "quadratic", "coefficients": [*functions, functions[0]][:devices]},
        "model": {"init": {"kind": "value", "value": 0.0}},
        "training": training,
        "algorithm": algorithm,
        "server": {"selection": {"kind": "schedule", "rounds": list(schedule)}},
        **more,
    }


def models(*args, **options):
    return edgefl.run(scenario(*args, **options)).rounds["parameter"].to_numpy()


def direction(x, device, lr):
    """Return (start - w) / lr after two steps from x."""
    return (1 - (1 - lr * CURVATURES[device]) ** 2) * (x - OPTIMA[device]) / lr


class TestMifa:
    ROUNDS = ([0, 1], [0], [2], [0], [1, 2], [0, 1, 2])  # all three are known in the third round

    def replayed(self, rate, *, first=2):
        """Return the models; `rate` is that of a round, `first` the index of the round with the first step."""
        x = 0.0
        table = np.zeros(3)
        found = []
        for index, ids in enumerate(self.ROUNDS):
            for device in ids:
                table[device] = direction(x, device, rate(index))
            if index >= first:
                x -= rate(index) * table.mean()
            found.append(x)
        return found

    @pytest.mark.parametrize("state", ["server", "client"])
    def test_the_rate_falls_with_updates(self, state):
        """As in the authors' program: the first step has eta_0, the u-th one eta_0 / u."""
        expected = self.replayed(lambda index: LR / (1 + max(index - 2, 0)))
        assert models({**MIFA, "state": state}, self.ROUNDS) == pytest.approx(expected, abs=1e-12)

    def test_or_with_rounds(self):
        expected = self.replayed(lambda index: LR / (index + 1))
        assert models(MIFA, self.ROUNDS, clock="rounds") == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("state", ["server", "client"])
    def test_the_program_steps_one_round_after_the_last_device_is_known(self, state):
        expected = self.replayed(lambda index: LR / (1 + max(index - 3, 0)), first=3)
        found = models({**MIFA, "state": state, "first_step": "next_round"}, self.ROUNDS)
        assert found == pytest.approx(expected, abs=1e-12)
        assert found[2] == 0.0

    def test_first_step_needs_wait(self):
        with pytest.raises(InputError, match=r"algorithm.first_step: needs wait: true"):
            edgefl.run(scenario({"kind": "mifa", "first_step": "next_round"}))

    def test_without_wait_no_round_is_waited(self):
        assert (models("mifa", self.ROUNDS) == models("mifa", self.ROUNDS, clock="rounds")).all()


class TestFedAvg:
    def moved(self, x, lr):
        return x - lr * np.mean([direction(x, device, lr) for device in range(3)])

    def test_the_rate_falls_with_updates(self):
        """Devices heard in different rounds before an update train at one rate; in round 2 nobody new is there."""
        schedule = [[0, 1], [0], [2], [0], [1, 2], [0, 1, 2]]
        first = self.moved(0.0, LR)
        second = self.moved(first, LR / 2)
        expected = [0, 0, first, first, second, self.moved(second, LR / 3)]
        found = models(WAITS, schedule)
        assert found == pytest.approx(expected, abs=1e-12)

    def test_or_with_rounds(self):
        """Then each device trains at the rate of its round."""
        rates = {0: LR, 1: LR, 2: LR / 2}
        expected = -np.mean([rates[device] * direction(0.0, device, rates[device]) for device in range(3)])
        assert models(WAITS, [[0, 1], [2]], clock="rounds") == pytest.approx([0, expected], abs=1e-12)

    def test_rounds_in_which_nobody_is_heard_count_where_nobody_is_awaited(self, present):
        """Capped participation waits for nobody: an empty round is a round of the schedule under both clocks."""
        cap = {"kind": "fedavg", "max_participants": 3}
        by_updates = models(cap, devices=4, churn=present)
        assert (by_updates == models(cap, devices=4, churn=present, clock="rounds")).all()
        ahead = LR * np.mean([direction(0.0, device, LR) for device in (0, 1)])
        assert by_updates[2] == pytest.approx(-ahead - LR / 3 * direction(-ahead, 2, LR / 3), abs=1e-12)


def test_the_clock_resets_state_with_each_session():
    """MIFA waits in each session, as its table is empty then; the two sessions differ in their first model alone."""
    sessions = {"count": 2, "rounds": 3}
    schedule = [[0], [1, 2], [0, 1, 2]]
    keys = scenario(MIFA, schedule, sessions=sessions)
    del keys["rounds"]
    x = edgefl.run(keys).rounds["parameter"].to_numpy()

    def step(x, lr):
        return x - lr * np.mean([direction(x, device, lr) for device in range(3)])

    expected = []
    now = 0.0
    for _ in range(2):
        first = step(now, LR)
        second = step(first, LR / 2)
        expected += [now, first, second]
        now = second
    assert x == pytest.approx(expected, abs=1e-12)


def test_runs_with_different_clocks_share_no_learning():
    settings = {learning_setting(load(scenario(MIFA, clock=clock, devices=4))) for clock in ("updates", "rounds")}
    assert len(settings) == 2


def test_a_longer_run_can_go_on_from_a_shorter_one():
    """The clock looks at rounds that are over, so only the schedule itself may depend on how many there are."""
    assert rounds_matter(load(scenario(MIFA, devices=4))) is None
    assert rounds_matter(load(scenario(MIFA, kind="polynomial", devices=4))) == "training.lr_schedule: polynomial"


@pytest.mark.parametrize(("first_step", "received", "waits"), [("at_once", [1], False), ("next_round", [1], True)])
def test_waiting_of_mifa(first_step, received, waits):
    import torch

    algorithm = Mifa(wait=True, first_step=first_step)
    server = {"seen": torch.tensor([[1.0], [0.0]])}
    assert algorithm.waits(server, np.array(received)) == waits
    assert algorithm.waits(server, np.array([0]))
    assert server["seen"].tolist() == [[1.0], [0.0]]  # asked, not changed
