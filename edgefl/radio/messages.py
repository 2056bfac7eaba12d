"""The messages of a participation: downloads and uploads in turn.

Turn 0 is a download, turn 1 an upload, and so on: even turns lead to the device, odd ones to the server. An ordinary
round has two turns, split learning with K steps has 2 K + 2. Another message per participant is one more turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.radio.transfers import WAYS, Way

DOWNLOAD = 0
UPLOAD = 1

Pauses = Callable[[int, Floats], Floats]
"""Seconds [r] between a turn and the one before it, by the turn and the durations [r] of the transfers before it."""


def way_of(turn: int) -> Way:
    """Return the direction of a turn."""
    return WAYS[turn % 2]


class MessageGroup(NamedTuple):
    """The messages of some participants [r] with the same number of turns."""

    rows: Rows  # the participants
    bits: Floats  # [r, turns]
    pause_s: Pauses  # between turns, for example while the device computes

    @property
    def turns(self) -> int:
        """The number of turns."""
        return int(self.bits.shape[1])


class Messages:
    """The messages of all participants [n] of a round, in groups with the same number of turns, priced together."""

    def __init__(self, groups: Sequence[MessageGroup]) -> None:
        self.groups = groups
        count = sum(len(group.rows) for group in groups)
        # For each participant the number of its group and its row there.
        self._places = [(0, 0)] * count
        for number, group in enumerate(groups):
            for place, row in enumerate(group.rows.tolist()):
                self._places[row] = (number, place)

    def place(self, row: int) -> tuple[int, int]:
        """Return the group of a participant, and its place in the group."""
        return self._places[row]

    def bits(self, row: int, turn: int) -> float:
        """Return the bits of one message."""
        group, place = self.place(row)
        return float(self.groups[group].bits[place, turn])

    def last_turn(self, row: int) -> int:
        """Return the last turn of a participant."""
        group, _place = self.place(row)
        return self.groups[group].turns - 1

    @property
    def turns(self) -> int:
        """The largest number of turns that a participant has."""
        return max(group.turns for group in self.groups)

    def without(self, turns: Sequence[int]) -> Messages:
        """Return the same messages, but without bits in some turns and without computing before them."""
        groups = []
        for group in self.groups:
            bits = group.bits.copy()
            bits[:, turns] = 0.0
            groups.append(group._replace(bits=bits, pause_s=_no_pause_before(turns, group.pause_s)))
        return Messages(groups)

    def after_access(self, access_s: Callable[[Way, Floats], Floats]) -> Messages:
        """Return the same messages with pauses that are longer by the time of access to the radio.

        Args:
            access_s: returns the times [r] of messages, by their direction and their bits [r].
        """
        return Messages([group._replace(pause_s=_longer(group, access_s)) for group in self.groups])

    def most_bits(self, way: Way) -> Floats:
        """Return the bits [n] of each participant's largest message in a direction."""
        most = np.empty(len(self._places))
        for group in self.groups:
            most[group.rows] = group.bits[:, WAYS.index(way) :: 2].max(axis=1)
        return most

    def total_bits(self, way: Way) -> Floats:
        """Return all the bits [n] that each participant has in a direction."""
        total = np.empty(len(self._places))
        for group in self.groups:
            total[group.rows] = group.bits[:, WAYS.index(way) :: 2].sum(axis=1)  # every other turn is of this direction
        return total


def round_trip(
    count: int, down_bits: Floats | float, up_bits: Floats | float, computing_s: Callable[[Floats], Floats]
) -> Messages:
    """Return the two messages of an ordinary round's participants [n]: the model down, the update up.

    Args:
        count: n.
        down_bits: of the download, for all or [n].
        up_bits: of the upload, in the same form.
        computing_s: seconds [n] of computing between them, by the durations [n] of the downloads.
    """
    bits = np.empty((count, 2))
    bits[:, DOWNLOAD] = down_bits
    bits[:, UPLOAD] = up_bits

    def pause_s(_turn: int, duration_s: Floats) -> Floats:
        return computing_s(duration_s)

    return Messages([MessageGroup(np.arange(count), bits, pause_s)])


def by_turns(bits: Sequence[Floats], pause_s: Sequence[Floats]) -> Messages:
    """Return messages whose pauses are known in advance.

    Args:
        bits: [turns] of each participant; the number of turns may differ.
        pause_s: [turns] seconds before each of these.
    """
    rows_of: dict[int, list[int]] = {}
    for row, message_bits in enumerate(bits):
        rows_of.setdefault(len(message_bits), []).append(row)
    groups = []
    for _turns, rows in sorted(rows_of.items()):
        group_bits = np.stack([bits[row] for row in rows])
        group_pause_s = np.stack([pause_s[row] for row in rows])
        groups.append(MessageGroup(np.array(rows), group_bits, _known(group_pause_s)))
    return Messages(groups)


def _no_pause_before(turns: Sequence[int], pause_s: Pauses) -> Pauses:
    def pause_before(turn: int, duration_s: Floats) -> Floats:
        if turn in turns:
            return np.zeros_like(duration_s)
        return pause_s(turn, duration_s)

    return pause_before


def _longer(group: MessageGroup, access_s: Callable[[Way, Floats], Floats]) -> Pauses:
    """Return the pauses of a group, each with the time of access after it."""

    def pause_s(turn: int, duration_s: Floats) -> Floats:
        return group.pause_s(turn, duration_s) + access_s(way_of(turn), group.bits[:, turn])

    return pause_s


def _known(pause_s: Floats) -> Pauses:
    """Return pauses [r, turns] as a function of the turn."""

    def pause_before(turn: int, _duration_s: Floats) -> Floats:
        return np.asarray(pause_s[:, turn])

    return pause_before
