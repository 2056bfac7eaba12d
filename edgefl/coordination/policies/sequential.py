"""One device after another."""

from __future__ import annotations

from collections.abc import Generator
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import simpy

from edgefl.coordination.policies.base import Coordinator, Policy


class Sequential(Policy):
    """The model walks through the participants, by the server or directly (sequential FL, Li & Lyu, NeurIPS 2023)."""

    links: Literal["relayed", "device_to_device"] = "relayed"  # through the base station, or from device to device

    @property
    def averages(self) -> bool:
        """There is one model."""
        return False

    @property
    def direct(self) -> bool:
        """Whether devices hand the model on themselves."""
        return self.links == "device_to_device"

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Hand the model from device to device; what the last one makes of it is the next global model."""
        while (yield from server.ready()):
            ids = server.select()
            for device, successor in zip_longest(ids, ids[1:].tolist() if self.direct else ()):
                yield server.env.all_of(server.dispatch(np.array([device]), successor))
                server.pass_on()
            server.aggregate()
