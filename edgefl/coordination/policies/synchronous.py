"""Synchronous rounds."""

from collections.abc import Generator
from typing import Any

import simpy

from edgefl.coordination.policies.base import Coordinator, Policy


class Synchronous(Policy):
    """Synchronous rounds: wait for the last participant's upload (McMahan et al., AISTATS 2017, algorithm 1)."""

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run all rounds: select, dispatch, wait for all participants, aggregate."""
        while (yield from server.ready()):
            yield server.env.all_of(server.dispatch(server.select()))
            server.aggregate()
