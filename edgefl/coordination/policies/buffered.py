"""No rounds: the server learns from every few updates, and devices never wait for each other."""

from __future__ import annotations

from collections.abc import Generator
from typing import Annotated, Any

import simpy
from pydantic import Field

from edgefl.coordination.policies.base import Coordinator, Policy, cut_off, moment

PATIENCE = 10  # parts in vain, one after another, for each device under way


class Buffered(Policy):
    """Aggregate every few arrivals; server.participants are always under way (FedBuff, Nguyen et al., AISTATS 2022)."""

    buffer: Annotated[int, Field(ge=1, le=10**6)] = 10  # updates

    @property
    def overlapping(self) -> bool:
        """There are no rounds."""
        return True

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Keep devices under way; learn whenever the buffer is full."""
        return rolling(server, self.buffer)


def rolling(server: Coordinator, buffer: int) -> Generator[simpy.Event, Any, None]:
    """Aggregate every `buffer` arrivals; whoever is through is replaced at once, with the model of that moment.

    The server goes on with what it has when nobody is under way any more, or nothing arrives for a long time.
    """
    under_way: list[simpy.Process] = []
    while (yield from server.ready()):
        under_way, in_vain = [*under_way, *_more(server, under_way)], 0
        while under_way and server.received() < buffer and in_vain < PATIENCE * server.participants:
            before = server.received()
            yield server.env.any_of(under_way)
            yield from moment(server.env)  # who arrives together is learned from, and replaced, together
            alive = [process for process in under_way if process.is_alive]
            in_vain = in_vain + len(under_way) - len(alive) if server.received() == before else 0
            under_way = alive
            if server.received() < buffer:
                under_way = [*under_way, *_more(server, under_way, refill=True)]
        server.aggregate()
    yield from cut_off(server, under_way)


def _more(server: Coordinator, under_way: list[simpy.Process], *, refill: bool = False) -> list[simpy.Process]:
    """Devices for the free places."""
    free = max(server.participants - len(under_way), 0)  # a selection may take more than it is asked for
    return server.dispatch(server.select(free, refill=refill))
