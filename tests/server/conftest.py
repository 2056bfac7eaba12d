"""Fixtures that watch the server for its tests."""

import numpy as np
import pytest

from edgefl.server.global_model import GlobalModel


@pytest.fixture
def seen(monkeypatch):
    """By round: its key, the received devices, the server's state, and the devices' state after and before."""
    rounds = []
    learn = GlobalModel.learn

    def devices(model):
        count = len(model.learner.task.parts)
        return model.learner._states.store.gather(np.arange(count))

    def watched(self, command):
        before = devices(self)
        outcome = learn(self, command)
        heard = [arrival.device for arrival in command.arrivals]
        rounds.append((command.round_key, heard, self.state, devices(self), before))
        return outcome

    monkeypatch.setattr(GlobalModel, "learn", watched)
    return rounds
