"""One device after another."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np
import simpy

from edgefl.protocols.base import Coordinator, Policy


class Sequential(Policy):
    """The model walks through the participants, relayed by the server (sequential FL, Li & Lyu, NeurIPS 2023)."""

    averages: ClassVar[bool] = False

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Hand the model from device to device; what the last one makes of it is the next global model."""
        while server.running():
            for device in server.select():
                yield server.env.all_of(server.dispatch(np.array([device])))
                server.pass_on()
            server.aggregate()
