"""The server learns from every update as it arrives."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from edgefl.coordination.policies.base import Coordinator, Policy
from edgefl.coordination.policies.buffered import rolling


class Asynchronous(Policy):
    """Aggregate at every arrival; server.participants are always under way (FedAsync, Xie et al., 2019)."""

    @property
    def overlapping(self) -> bool:
        """There are no rounds."""
        return True

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """A buffer of one."""
        return rolling(server, 1)
