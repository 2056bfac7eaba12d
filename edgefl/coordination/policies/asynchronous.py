"""Aggregation at every arrival."""

from collections.abc import Generator
from typing import Any, ClassVar

import simpy

from edgefl.coordination.policies.base import Coordinator, Policy
from edgefl.coordination.policies.buffered import aggregate_every


class Asynchronous(Policy):
    """Aggregate at every arrival; server.participants are always under way (FedAsync, Xie et al., 2019)."""

    overlapping: ClassVar[bool] = True  # other devices are under way at every aggregation

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run as `buffered` does, with a buffer of one update."""
        return aggregate_every(server, 1)
