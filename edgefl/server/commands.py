"""The commands that change the global model, in order: `GlobalModel.apply` does what they say.

A digest of all commands so far is the key under which outcomes are on record, so their names and fields decide what a
resumed run finds there.
"""

from dataclasses import dataclass
from typing import NamedTuple

from edgefl.scenario import RoundKey


class Arrival(NamedTuple):
    """An update that has arrived."""

    device: int
    cell: int
    stage: int  # number of commands before the model that the device had received
    version: int  # number of aggregations before that model


@dataclass(frozen=True)
class Send:
    """The present model is sent to devices, whose updates may arrive later."""

    stage: int  # number of commands so far; tells the models apart that were sent at different times
    round_key: RoundKey


@dataclass(frozen=True)
class Forget:
    """Devices in flight have received the models of these stages only."""

    in_flight: frozenset[int]


@dataclass(frozen=True)
class Enter:
    """A round begins."""

    round_key: RoundKey
    number: int  # number of aggregations before


@dataclass(frozen=True)
class Redivide:
    """The training samples of a round's participants are divided among them again."""

    number: int  # number of aggregations before
    devices: tuple[int, ...]  # the participants, ascending


@dataclass(frozen=True)
class Change:
    """The data of devices change; devices that have received a model before still train it on what they had then."""

    changes: int  # number of changes so far, this one included


@dataclass(frozen=True)
class PassOn:
    """The model that has just arrived goes to the next device unchanged."""

    round_key: RoundKey
    arrivals: tuple[Arrival, ...]


@dataclass(frozen=True)
class Learn:
    """A round ends."""

    round_key: RoundKey
    number: int  # number of aggregations before
    arrivals: tuple[Arrival, ...]  # in order of devices
    awaited: tuple[int, ...]  # devices whose updates the algorithm waits for before it changes the model
    merge: bool  # True if the cloud averages the models of the base stations


@dataclass(frozen=True)
class Depart:
    """Devices have left and lost their state."""

    devices: tuple[int, ...]  # ascending; only those whose update arrived since they last left
    forget: bool  # True if the server, too, removes them from its state


Command = Send | Forget | Enter | Redivide | Change | PassOn | Learn | Depart
