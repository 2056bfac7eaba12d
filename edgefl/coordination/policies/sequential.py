"""One device after another."""

from collections.abc import Generator
from typing import Any, ClassVar, Literal

import numpy as np
import simpy

from edgefl.coordination.policies.base import Coordinator, Policy


class Sequential(Policy):
    """The model walks through the participants, by the server or directly (sequential FL, Li & Lyu, NeurIPS 2023)."""

    averages: ClassVar[bool] = False  # there is one model, which each participant trains in turn

    # The way of the model, through the base station or from device to device.
    links: Literal["relayed", "device_to_device"] = "relayed"

    @property
    def direct_links(self) -> bool:
        """Return True if devices send the model to each other."""
        return self.links == "device_to_device"

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run all rounds: hand the model from device to device; the last one returns the next global model."""
        while (yield from server.ready()):
            ids = server.select()
            for place, device in enumerate(ids):
                successor = None  # the base station
                if self.direct_links and place + 1 < len(ids):
                    successor = int(ids[place + 1])
                yield server.env.all_of(server.dispatch(np.array([device]), successor))
                server.pass_on()
            server.aggregate()
