"""The commands that change the global model: what happened to learning, in order.

A digest of all commands so far is the key under which outcomes are on record, so their names and fields decide what a
resumed run finds there.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from edgefl.learning.analog_sum import AnalogSum
from edgefl.scenario import RoundKey


class Arrival(NamedTuple):
    """An update that has arrived."""

    device: int
    cell: int
    stage: int  # number of commands before the model that the device had received
    version: int  # number of aggregations before that model


class Commanded(Protocol):
    """The global model as commands see it."""

    def naming(self, round_key: RoundKey) -> AbstractContextManager[None]:
        """Return a context in which errors name a round."""

    def send(self, stage: int, round_key: RoundKey) -> None:
        """Keep the present model as that of a stage."""

    def forget(self, in_flight: frozenset[int]) -> None:
        """Forget the models of all stages but these."""

    def enter(self, round_key: RoundKey, number: int) -> None:
        """Begin a round after `number` aggregations."""

    def redivide(self, command: Redivide) -> None:
        """Give each participant its samples of a round."""

    def pass_on(self, command: PassOn) -> None:
        """Train the model that has arrived."""

    def learn(self, command: Learn) -> dict[str, Any]:
        """Train and aggregate; return the outcome."""

    def depart(self, command: Depart) -> None:
        """Forget the state of devices."""


@dataclass(frozen=True)
class Send:
    """The present model is sent to devices, whose updates may arrive later."""

    stage: int  # number of commands so far; tells the models apart that were sent at different times
    round_key: RoundKey

    def apply_to(self, model: Commanded) -> None:
        """Keep the model until no device in flight has it."""
        with model.naming(self.round_key):
            model.send(self.stage, self.round_key)


@dataclass(frozen=True)
class Forget:
    """Devices in flight have received the models of these stages only."""

    in_flight: frozenset[int]

    def apply_to(self, model: Commanded) -> None:
        """Forget the models of other stages."""
        model.forget(self.in_flight)


@dataclass(frozen=True)
class Enter:
    """A round begins."""

    round_key: RoundKey
    number: int  # number of aggregations before

    def apply_to(self, model: Commanded) -> None:
        """Begin a session, if the round is its first."""
        with model.naming(self.round_key):
            model.enter(self.round_key, self.number)


@dataclass(frozen=True)
class Redivide:
    """The training samples of a round's participants are divided among them again."""

    number: int  # number of aggregations before
    devices: tuple[int, ...]  # the participants, ascending

    def apply_to(self, model: Commanded) -> None:
        """Give each participant its samples of this round."""
        model.redivide(self)


@dataclass(frozen=True)
class PassOn:
    """The model that has just arrived goes to the next device as it is."""

    round_key: RoundKey
    arrivals: tuple[Arrival, ...]

    def apply_to(self, model: Commanded) -> None:
        """Train the model that has arrived."""
        with model.naming(self.round_key):
            model.pass_on(self)


@dataclass(frozen=True)
class Learn:
    """A round ends."""

    round_key: RoundKey
    number: int  # number of aggregations before
    arrivals: tuple[Arrival, ...]  # in order of devices
    awaited: tuple[int, ...]  # devices whose updates the algorithm waits for before it changes the model
    merge: bool  # True if the cloud averages the models of the base stations

    def apply_to(self, model: Commanded) -> dict[str, Any]:
        """Train and aggregate."""
        with model.naming(self.round_key):
            return model.learn(self)


@dataclass(frozen=True)
class LearnFromSum(Learn):
    """A round ends whose updates the base stations have received as sums, with noise."""

    # A command of its own: the digests of other rounds know nothing of sums.
    received: AnalogSum


@dataclass(frozen=True)
class Depart:
    """Devices have left and lost their state."""

    devices: tuple[int, ...]  # ascending; only those whose update arrived since they last left
    forget: bool  # True if the server, too, removes them from its state

    def apply_to(self, model: Commanded) -> None:
        """Forget the devices' state."""
        model.depart(self)


Command = Send | Forget | Enter | Redivide | PassOn | Learn | Depart
