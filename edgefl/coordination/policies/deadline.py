"""Rounds with a longest waiting time."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar, Literal

import simpy

from edgefl.coordination.policies.base import DEPARTED, Coordinator, Policy, cut_off, moment


class Deadline(Policy):
    """A round ends when all updates are in, after server.deadline_s at the latest (FedAR, "maximum waiting time")."""

    has_deadline: ClassVar[bool] = True

    late: Literal["drop", "keep"] = "drop"  # what is late is cut short and lost, or counts in the round it arrives in

    @property
    def overlapping(self) -> bool:
        """Late devices go on while the next round runs."""
        return self.late == "keep"

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Select, send, wait for all or for the deadline, aggregate; again."""
        under_way: list[simpy.Process] = []
        while (yield from server.ready()):
            under_way, over = [*under_way, *server.dispatch(server.select())], server.env.timeout(server.deadline_s)
            yield server.env.all_of(under_way) | over
            if not over.processed and (not under_way or any(process.value == DEPARTED for process in under_way)):
                yield over  # nobody tells the server who has left, or that nobody will answer
            yield from moment(server.env)  # what arrives at the deadline is in time
            under_way = [process for process in under_way if process.is_alive]
            if self.late == "drop":
                for process in under_way:
                    process.interrupt("late")
                yield server.env.all_of(under_way)
                under_way = []
            server.aggregate()
        yield from cut_off(server, under_way)
