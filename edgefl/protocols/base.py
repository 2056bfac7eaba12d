"""What a protocol is: who waits for whom, in virtual time; it knows nothing of the mathematics of learning."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.catalogue import Member


class Coordinator(Protocol):
    """What a policy can ask of the server."""

    env: simpy.Environment

    def running(self) -> bool:
        """Whether another round is to begin."""

    def select(self) -> npt.NDArray[np.int64]:
        """Begin a round: the ids [C] of its participants, in order."""

    def dispatch(self, ids: npt.NDArray[np.int64]) -> Sequence[simpy.Process]:
        """Send the model to these devices: one process each, which ends when the device's upload has arrived."""

    def aggregate(self) -> None:
        """End the round: learn from every upload that has arrived."""


class Policy(Member):
    """Base of all server policies."""

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """The server's SimPy process, from the first round to the last."""
        raise NotImplementedError
