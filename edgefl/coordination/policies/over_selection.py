"""Rounds that begin with more participants than needed."""

import math
from collections.abc import Generator
from typing import Annotated, Any

import simpy
from pydantic import Field

from edgefl.coordination.policies.base import Coordinator, Policy, finish_moment

PRODUCT_ROUNDING = 1e-9  # 1.1 * 10 is 11.000000000000002 in floating point, and asks for 11 devices


class OverSelection(Policy):
    """Ask more devices than needed, and take the first updates (Bonawitz et al., MLSys 2019, section 2.1)."""

    factor: Annotated[float, Field(ge=1, le=100)] = 1.3  # Number of devices asked over server.participants.

    def asked(self, participants: int) -> int:
        """Return how many devices a round asks."""
        return math.ceil(self.factor * participants - PRODUCT_ROUNDING)

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run all rounds: select, dispatch, wait for enough updates, interrupt the others, aggregate."""
        while (yield from server.ready(self.asked(server.participants))):
            under_way = server.dispatch(server.select(self.asked(server.participants)))
            while under_way and server.received() < server.participants:
                yield server.env.any_of(under_way)
                yield from finish_moment(server.env)  # updates that arrive together count together
                under_way = [process for process in under_way if process.is_alive]
            for process in under_way:
                process.interrupt("late")
            yield server.env.all_of(under_way)
            server.aggregate()
