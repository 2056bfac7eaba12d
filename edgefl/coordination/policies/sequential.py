"""One device after another."""

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np
import simpy

from edgefl.coordination.policies.base import Coordinator, Policy


class Sequential(Policy):
    """The model walks through the participants, by the server (sequential FL, Li & Lyu, NeurIPS 2023)."""

    averages: ClassVar[bool] = False  # there is one model, which each participant trains in turn

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run all rounds: hand the model from device to device; the last one returns the next global model."""
        while (yield from server.ready()):
            for device in server.select():
                yield server.env.all_of(server.dispatch(np.array([device])))
                server.pass_on()
            server.aggregate()
