"""Rounds with a longest waiting time."""

from collections.abc import Generator
from typing import Any, ClassVar, Literal

import simpy

from edgefl.coordination.policies.base import DEPARTED, Coordinator, Policy, cut_off, finish_moment


class Deadline(Policy):
    """A round ends when all updates are in, after server.deadline_s at the latest (FedAR, "maximum waiting time")."""

    has_deadline: ClassVar[bool] = True

    # Whether late devices are interrupted (drop), or their updates count when they arrive (keep).
    late: Literal["drop", "keep"] = "drop"

    @property
    def overlapping(self) -> bool:
        """Return True with `late: keep`: late devices continue while the next round runs."""
        return self.late == "keep"

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run all rounds: select, dispatch, wait for all or for the deadline, aggregate."""
        under_way: list[simpy.Process] = []
        while (yield from server.ready()):
            under_way = [*under_way, *server.dispatch(server.select())]
            deadline = server.env.timeout(server.deadline_s)
            yield server.env.all_of(under_way) | deadline
            if not deadline.processed and _must_wait_on(under_way):
                yield deadline
            yield from finish_moment(server.env)  # an update that arrives at the deadline is in time
            under_way = [process for process in under_way if process.is_alive]
            if self.late == "drop":
                for process in under_way:
                    process.interrupt("late")
                yield server.env.all_of(under_way)
                under_way = []
            server.aggregate()
        yield from cut_off(server, under_way)


def _must_wait_on(ended: list[simpy.Process]) -> bool:
    """Return whether the server waits for the deadline although all participations have ended.

    It cannot know that a device has left, or that no device will answer.
    """
    return not ended or any(process.value == DEPARTED for process in ended)
