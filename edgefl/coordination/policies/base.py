"""What a protocol is: who waits for whom, in virtual time; it knows nothing of the mathematics of learning."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.core.catalogue import Member

DEPARTED = "departed"  # how the part of a device ends that leaves


class Coordinator(Protocol):
    """What a policy can ask of the server."""

    env: simpy.Environment

    def ready(self) -> Generator[simpy.Event, Any, bool]:
        """Whether another round has begun; where nobody could take part, when somebody has come."""

    @property
    def participants(self) -> int:
        """How many devices a round asks for."""

    @property
    def deadline_s(self) -> float:
        """The longest waiting time, where the scenario gives one."""

    def select(self, count: int | None = None, *, refill: bool = False) -> npt.NDArray[np.int64]:
        """Ids of `count` devices, else `participants`, in order: for the round that has begun, or to `refill` it.

        Devices that are under way, or whose update waits to be learned from, are left out, and those that the algorithm
        does not admit; so there may be fewer. A refill that finds nobody, or wants nobody, leaves no trace.
        """

    @property
    def backhaul_s(self) -> float:
        """Time of a model between the server and all base stations, side by side."""

    def dispatch(self, ids: npt.NDArray[np.int64], successor: int | None = None) -> list[simpy.Process]:
        """Send the model to these devices: one process each, which ends when the device's upload has arrived.

        Where one device alone has a `successor`, its upload goes there over a direct link, and is the download of the
        next one to be dispatched; if it fails, that one asks the base station, which listens in on what gets through.

        The process's value is how the part has ended: "received" if all went well, DEPARTED where the device has left.
        Interrupting a process ends the device's part: what it has cost so far is entered, its update is lost, and the
        cause of the interrupt is its status. Wait for the process before `aggregate`.
        """

    def received(self) -> int:
        """How many updates wait to be learned from."""

    def pass_on(self) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""

    def aggregate(self, *, merge: bool = False) -> None:
        """End the round: learn from every upload that has arrived.

        Where base stations have models of their own, `merge` makes these one.
        """

    def close(self) -> None:
        """Enter the costs of what has been cut short since the last round ended into that round."""


class StarBackhaul(NamedTuple):
    """A link of its own from the server to each base station."""

    rate_bps: float | None  # None: bits take no time
    delay_s: float  # of a message, one way


class Policy(Member):
    """Base of all server policies."""

    has_deadline: ClassVar[bool] = False  # whether server.deadline_s has a meaning
    edges: ClassVar[bool] = False  # whether each base station has a model of its own
    splits_model: ClassVar[bool] = False  # whether devices train the model's front, and the server its back

    @property
    def averages(self) -> bool:
        """Whether updates meet in the algorithm's aggregation."""
        return True

    @property
    def overlapping(self) -> bool:
        """Whether devices of different rounds are under way together."""
        return False

    @property
    def direct(self) -> bool:
        """Whether devices send to each other."""
        return False

    @property
    def cut_layer(self) -> str | int | None:
        """The last layer of the front, of a policy that splits the model; None stands for the model's usual one."""
        return None

    @property
    def star_backhaul(self) -> StarBackhaul | None:
        """The backhaul that the policy itself describes; None where only the section `backhaul` does."""
        return None

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """The server's SimPy process, from the first round to the last."""
        raise NotImplementedError


def cut_off(server: Coordinator, under_way: list[simpy.Process]) -> Generator[simpy.Event, Any, None]:
    """End what is under way when the last round has ended; what it has cost counts in that round."""
    for process in under_way:
        process.interrupt("unfinished")
    yield server.env.all_of(under_way)
    server.close()


def moment(env: simpy.Environment) -> Generator[simpy.Event, Any, None]:
    """Let all that happens at this moment happen first, so that its order leaves no trace."""
    while env.peek() <= env.now:
        yield env.timeout(0)
