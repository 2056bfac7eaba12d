"""More participants than needed."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Annotated, Any

import simpy
from pydantic import Field

from edgefl.coordination.policies.base import Coordinator, Policy, moment


class OverSelection(Policy):
    """Ask more devices than needed, and take the first updates (Bonawitz et al., MLSys 2019, section 2.1)."""

    factor: Annotated[float, Field(ge=1, le=100)] = 1.3  # devices asked, over server.participants

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Select, send, wait for enough, stop the others, aggregate; again."""
        while (yield from server.ready()):
            under_way = server.dispatch(server.select(math.ceil(self.factor * server.participants - 1e-9)))
            while under_way and server.received() < server.participants:
                yield server.env.any_of(under_way)
                yield from moment(server.env)  # who arrives together counts together
                under_way = [process for process in under_way if process.is_alive]
            for process in under_way:
                process.interrupt("late")
            yield server.env.all_of(under_way)
            server.aggregate()
