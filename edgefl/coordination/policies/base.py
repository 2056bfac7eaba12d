"""Server policies decide when rounds begin and end in virtual time; they know nothing of the mathematics of learning.

To write a policy:

1. One file in this folder with a subclass of `Policy`. Its fields are its keys under `server.policy`, and the first
   line of its docstring, which names the source, is what `edgefl list policies` prints.
2. The flags of `Policy` that differ.
3. `run`, a SimPy process from the first round to the last. It sees the server through `Coordinator`, whose methods
   stand below in the order of a round's calls: `ready`, `select`, `dispatch`, wait, `aggregate`.
   `synchronous.py` is the shortest example, `buffered.py` one without rounds.
4. One line in the table of contents (`members.csv`), one test in `tests/coordination/`, one row in `docs/policies.md`.
"""

from collections.abc import Generator
from typing import Any, ClassVar, NamedTuple, Protocol

import simpy

from edgefl.core.arrays import Ids
from edgefl.core.catalogue import Member

DEPARTED = "departed"  # the outcome of a participation whose device has left


class Coordinator(Protocol):
    """The server as a policy sees it.

    A round runs like this::

        while (yield from server.ready()):
            ids = server.select()
            processes = server.dispatch(ids)
            yield server.env.all_of(processes)
            server.aggregate()

    A *participation* is what one device does after one dispatch: it downloads the model, trains it and uploads its
    update. Each participation is one SimPy process.
    """

    env: simpy.Environment
    """The event loop; `env.now` is the virtual time [s]."""

    @property
    def participants(self) -> int:
        """Return how many devices the scenario asks for in a round."""

    @property
    def deadline_s(self) -> float:
        """Return the longest time [s] that a round may last, infinite where the scenario gives none."""

    @property
    def backhaul_s(self) -> float:
        """Return how long [s] a model takes from the server to all base stations, which are sent it at once."""

    @property
    def time_is_up(self) -> simpy.Event:
        """Return the event of `stop.time_s`, at which a policy without rounds ends; it may never happen."""

    def ready(self, count: int | None = None) -> Generator[simpy.Event, Any, bool]:
        """Begin the next round, and return True; return False if the run has ended.

        If no device could take part, this waits until one arrives or is charged. `count` tells agents how many devices
        `select` will be asked for; `participants` if None.
        """

    def select(self, count: int | None = None, *, refill: bool = False) -> Ids:
        """Return the ids [n] of the devices that are to take part, in order.

        Devices that have not finished, whose update has not been aggregated yet, or that the algorithm does not admit
        are left out, so n may be less than `count`.

        Args:
            count: how many devices to choose; `participants` if None.
            refill: whether they replace devices that have finished, rather than begin a round. Then the selection
                counts this
                call as a round of its own, unless no device is wanted or available.
        """

    def before_refill(self, count: int) -> Generator[simpy.Event, Any, None]:
        """Let agents decide; to be called before `select(count, refill=True)`.

        Without it, the scenario's selection chooses the refills, not the agent.
        """

    def dispatch(self, ids: Ids) -> list[simpy.Process]:
        """Send the model to devices [n]; return one process for each participation, in the same order.

        A process ends when the server has received the update, or when the participation has failed. Its value is the
        outcome: "received" if all went well, DEPARTED if the device has left, or the cause of an interrupt.

        Interrupting a process ends the participation: its cost so far is recorded, its update is lost, and the cause of
        the interrupt becomes its status. Wait for an interrupted process before you call `aggregate`.

        Args:
            ids: the devices.
        """

    def ask(self, ids: Ids, down_bits: float, up_bits: float) -> Generator[simpy.Event, Any, Ids]:
        """Exchange a message with devices [n] besides the model, and return those that have answered and are present.

        Each device that is present downloads a message and uploads its answer, computes nothing, and has a row of its
        own in devices.csv (status "answered"). All begin now, and the call ends when the last has ended::

            ids = yield from server.ask(ids, down_bits, up_bits)

        Args:
            ids: the devices.
            down_bits: of the message to each.
            up_bits: of its answer.
        """

    def received(self) -> int:
        """Return how many updates have arrived and have not been aggregated yet."""

    def pass_on(self) -> None:
        """Let the next device download the model that has just arrived, without averaging."""

    def aggregate(self, *, merge: bool = False) -> None:
        """End the round: learn from all updates that have arrived, and record the round.

        With `server.device_evaluation` it ends later, in `ready`. With `merge` the models of all base stations become
        one, for policies with `edge_models`.
        """

    def close(self) -> None:
        """Record participations that were cut off after the last round, as part of that round."""


class StarBackhaul(NamedTuple):
    """Links between a server and each of its base stations, as a policy's own keys describe them."""

    rate_bps: float | None  # None: bits take no time
    delay_s: float  # of a message, one way


class Policy(Member):
    """Base class of all server policies.

    The class variables and properties are flags, which the server and the checks of a scenario read. Flags that depend
    on the policy's own keys are properties.
    """

    has_deadline: ClassVar[bool] = False
    """Rounds end at `server.deadline_s` at the latest, so that this key is required."""

    edge_models: ClassVar[bool] = False
    """Each base station has its own model, which learns from the devices of its cell."""

    splits_model: ClassVar[bool] = False
    """Devices train the first layers of the model, and the server trains the rest."""

    exchanges: ClassVar[bool] = False
    """A driver outside the scenario runs the rounds, and decides what each participant receives, computes and sends."""

    @property
    def averages(self) -> bool:
        """Return whether the algorithm aggregates updates of several devices; if not, they train one model in turn."""
        return True

    @property
    def overlapping(self) -> bool:
        """Return whether a device may still be under way when the next aggregation begins."""
        return False

    @property
    def cut_layer(self) -> str | int | None:
        """Return the last layer that devices train (name, or number from 1) if `splits_model`; None: the default."""
        return None

    @property
    def star_backhaul(self) -> StarBackhaul | None:
        """Return the backhaul that the policy's own keys describe; None if it has no such keys."""
        return None

    def asked(self, participants: int) -> int:
        """Return how many devices a round asks, so that `participants` send updates that count."""
        return participants

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run all rounds, as a SimPy process."""
        raise NotImplementedError


def cut_off(server: Coordinator, under_way: list[simpy.Process]) -> Generator[simpy.Event, Any, None]:
    """End the participations that are under way after the last round, and record their cost in that round."""
    for process in under_way:
        process.interrupt("unfinished")
    yield server.env.all_of(under_way)
    server.close()


def finish_moment(env: simpy.Environment) -> Generator[simpy.Event, Any, None]:
    """Let all other events of the present time happen, so that the order of simultaneous events does not matter."""
    while env.peek() <= env.now:
        yield env.timeout(0)  # comes after all events that are scheduled for now
