"""Messages besides the model, which a policy exchanges with devices."""

import numpy as np
import pytest

import edgefl
from edgefl.coordination.policies import Policy

DOWN_BITS = 4e5
UP_BITS = 1e6
WORLD = {
    "rounds": 3,
    "seed": 5,
    "data": {"dataset": "synthetic", "owners": 8, "features": 5, "classes": 3},
    "devices": {"count": 8},
    "server": {"participants": 3},
    "radio": {"bandwidth_hz": 1e6},
}


class Asks(Policy):
    """Synchronous rounds, with a message before training and another one after it."""

    before: bool = True
    after: bool = True

    def run(self, server):
        while (yield from server.ready()):
            ids = server.select()
            if self.before:
                ids = yield from server.ask(ids, DOWN_BITS, UP_BITS)
            yield server.env.all_of(server.dispatch(ids))
            if self.after:
                yield from server.ask(ids, 0.0, UP_BITS)
            server.aggregate()


def run(policy, *, train=False, **keys):
    world = {**WORLD, **keys}
    return edgefl.run({**world, "server": {**WORLD["server"], "policy": policy}}, train=train)


def test_each_message_has_its_bits_and_time():
    devices = run(Asks()).devices
    asked = devices[devices.status == "answered"]
    assert len(asked) == 2 * (devices.status == "received").sum() == 2 * 9
    assert sorted(asked.bytes_down * 8) == [0.0] * 9 + [DOWN_BITS] * 9
    assert (asked.bytes_up * 8 == UP_BITS).all()
    assert (asked.compute_s == 0).all()
    assert (asked.upload_s > 0).all()


def test_a_round_takes_its_messages_longer():
    """The radio's draws of training do not change: a round lasts as long as without messages, and as their slowest."""
    plain = run("synchronous")
    asking = run(Asks(after=False))
    answers = asking.devices[asking.devices.status == "answered"]
    took_s = answers.download_s + answers.upload_s
    longest_s = took_s.groupby(answers["round"]).max().to_numpy()
    assert asking.rounds.duration_s.to_numpy() == pytest.approx(plain.rounds.duration_s.to_numpy() + longest_s)


@pytest.mark.oracle
def test_messages_leave_learning_as_it_is():
    plain = run("synchronous", train=True)
    asking = run(Asks(), train=True)
    assert np.array_equal(plain.parameters, asking.parameters)


@pytest.mark.oracle
def test_departed_devices_are_not_asked():
    """Each message finds the devices that are present, and training only those that have answered."""
    churn = {"kind": "poisson", "arrivals_per_s": 6.0, "stay_s": {"exponential": 1.0}}
    result = run(Asks(), rounds=20, churn=churn)
    devices = result.devices
    assert result.status == "finished"
    assert (devices.status == "departed").any()
    for _, of_round in devices.groupby("round"):
        trained = of_round[of_round.status == "received"]
        answered = of_round[(of_round.status == "answered") & (of_round.bytes_down > 0)]
        assert set(trained.device) <= set(answered.device)
