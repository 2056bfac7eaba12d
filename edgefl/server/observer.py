"""Observers: the optional parts of a run.

To write one: a file in `observers/` with a subclass of `Observer`, a line in `runs/observers.py`, which lists the
observers of a run, and one test. A column of results that it adds has a line in `records/columns.csv`, a quantity of
the whole run one in `records/quantities.csv`.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy.typing as npt
import simpy

from edgefl.core.arrays import Ids
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.scenario import RoundKey
from edgefl.server.participation import Participation, ProcessFactory

DeviceColumns = dict[str, npt.NDArray[Any]]  # by column name, one value for each participation [n]
RoundColumns = dict[str, float]  # of one row of rounds.csv

# Begins participations of devices over a link; see `UnderWay.begin`.
Begin = Callable[[Ids, Callable[[Drop], ProcessFactory], int, Link], list[simpy.Process]]


@dataclass(frozen=True, slots=True)
class Begun:
    """Participations [n] that begin together: devices that train, answer a poll or answer another message."""

    parts: Sequence[Participation]  # in the order of asking the devices
    processes: Sequence[simpy.Process]  # of each participation
    drop: Drop  # the large-scale channel of the devices, in order of their ids
    link: Link  # over which they take part
    index: int  # it keys the draws of their channel


class EndedRound(NamedTuple):
    """A round that ends now, or what the end of the run has cut off after its last round."""

    key: RoundKey
    since_s: float  # when the round before ended
    until_s: float  # now
    parts: Sequence[Participation]  # [n] that have ended since then, in order of their devices
    devices: DeviceColumns  # the same as columns of devices.csv
    merged: bool = False  # whether the models of all base stations became one


class Observer:
    """Base class of all observers: each method is called at a moment of every round, and does nothing by default.

    A run calls its observers in the order of their list, which is that of their columns in results.
    """

    def round_begins(self, number: int, present: int) -> None:
        """Note that round `number`, from 1, begins while `present` devices are present."""

    def before_choosing(
        self, index: int, count: int | None, begin: Begin, *, refill: bool
    ) -> Generator[simpy.Event, Any, None]:
        """Do what takes time before selection `index` chooses devices, as a part of the policy's process.

        Args:
            index: of the selection.
            count: how many devices it will be asked for; all that the scenario asks for if None.
            begin: begins participations of devices that are asked before.
            refill: whether the selection replaces devices that have finished, rather than begin a round.
        """
        yield from ()

    def begins(self, begun: Begun) -> None:
        """Note that participations begin."""

    def before_round_ends(self, begin: Begin) -> Generator[simpy.Event, Any, None] | None:
        """Return a process between the last update and the round's end, which may `begin` participations; or None."""
        return None

    def ends(self, part: Participation) -> None:
        """Note that a participation has ended; its device now waits for the end of the round, unless it is gone."""

    def device_columns(self, parts: Sequence[Participation]) -> DeviceColumns:
        """Return more columns of devices.csv for participations [n], whose round ends now."""
        return {}

    def added_device_columns(self, devices: DeviceColumns) -> DeviceColumns:
        """Return more columns of devices.csv that follow from those of participations [n], whose round ends now."""
        return {}

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return more columns of rounds.csv for a round that ends now."""
        return {}

    def round_recorded(self, number: int) -> None:
        """Note that the row of round `number`, from 1, is on record."""

    def session_changes(self, before: int, after: int) -> None:
        """Note that the next round belongs to session `after`, and the last one to session `before`."""

    def run_ends(self, ended: EndedRound) -> RoundColumns:
        """Return what participations that were cut off after the last round add to its columns."""
        return {}

    def quantities(self) -> dict[str, Any]:
        """Return quantities of the whole run that no column of rounds adds up to (`records/quantities.py`)."""
        return {}
