"""Aggregation of every few arrivals, without rounds: devices never wait for each other."""

from collections.abc import Generator
from typing import Annotated, Any, ClassVar

import simpy
from pydantic import Field

from edgefl.coordination.policies.base import Coordinator, Policy, cut_off, finish_moment

MOST_FAILURES = 10  # in a row, for each device under way, until the server aggregates what it has


class Buffered(Policy):
    """Aggregate every few arrivals; server.participants are always under way (FedBuff, Nguyen et al., AISTATS 2022)."""

    overlapping: ClassVar[bool] = True  # other devices are under way at every aggregation

    buffer: Annotated[int, Field(ge=1, le=10**6)] = 10  # Number of updates that end a round.

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Keep devices under way, and aggregate whenever the buffer is full."""
        return aggregate_every(server, self.buffer)


def aggregate_every(server: Coordinator, buffer: int) -> Generator[simpy.Event, Any, None]:
    """Aggregate every `buffer` arrivals; replace devices that have ended, by devices with the latest model.

    The server continues with fewer updates if no device is under way any more, or if very many participations in a row
    bring none. So a run ends even if all transfers fail. At `stop.time_s` the last round ends at once, with the updates
    that have arrived since the round before.
    """
    under_way: list[simpy.Process] = []
    while (yield from server.ready(_missing(server, under_way))):
        under_way = _alive(under_way)  # devices may end while others report their channels
        under_way = [*under_way, *_fill_up(server, under_way)]
        failures = 0
        while under_way and server.received() < buffer and failures < MOST_FAILURES * server.participants:
            received_before = server.received()
            yield server.env.any_of([*under_way, server.time_is_up])
            yield from finish_moment(server.env)  # devices that end together are replaced together
            alive = _alive(under_way)
            if server.time_is_up.processed:
                under_way = alive
                break
            refill = server.received() < buffer
            if refill:
                yield from server.before_refill(_missing(server, alive))
                alive = _alive(under_way)
            if server.received() == received_before:
                failures += len(under_way) - len(alive)
            else:
                failures = 0
            under_way = alive
            if refill:
                under_way = [*under_way, *_fill_up(server, under_way, refill=True)]
        server.aggregate()
    yield from cut_off(server, under_way)


def _alive(processes: list[simpy.Process]) -> list[simpy.Process]:
    return [process for process in processes if process.is_alive]


def _fill_up(server: Coordinator, under_way: list[simpy.Process], *, refill: bool = False) -> list[simpy.Process]:
    return server.dispatch(server.select(_missing(server, under_way), refill=refill))


def _missing(server: Coordinator, under_way: list[simpy.Process]) -> int:
    """Return how many devices are to be dispatched so that `participants` are under way."""
    return max(server.participants - len(under_way), 0)  # a selection may have chosen more than it was asked for
