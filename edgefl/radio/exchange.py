"""Transfers by turns: down, up, down, up, as many as each participant needs."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import simpy

import channel
from edgefl.core.arrays import Complex, Floats
from edgefl.radio.band import Band
from edgefl.radio.carrier import GRID, Leg, Participants, Way, slots_begun
from edgefl.radio.fixed import Legs
from edgefl.radio.shared import SharedCarrier

if TYPE_CHECKING:
    from edgefl.radio.link import Link


WAYS: tuple[Way, Way] = ("down", "up")


class Turns(NamedTuple):
    """A participant's transfers, down and up by turns."""

    bits: Floats  # [T]
    pause_s: Floats  # [T] before each


class Exchange(Protocol):
    """Carries the transfers of one round, of which a `Carrier` has two for each participant."""

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, Leg]:
        """A participant's next transfer, from now on; an interrupt gets what was sent so far."""


class FixedExchange:
    """A round whose shares hold: everything is priced when it begins, turn by turn, vectorised over participants.

    Shares are divided by all the bits that a participant has in a direction.
    """

    def __init__(self, env: simpy.Environment, link: Link, who: Participants, turns: Sequence[Turns]) -> None:
        self._env, self._link = env, link
        self._offers = [
            link.offer(way, who, np.array([each.bits[first::2].sum() for each in turns]))
            for first, way in enumerate(WAYS)
        ]
        self._placed: dict[int, tuple[list[Legs], int]] = {}  # a participant's legs, and its row in them
        lengths = np.array([len(each.bits) for each in turns])
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            each = Turns(*map(np.stack, zip(*(turns[row] for row in rows.tolist()), strict=True)))
            legs = self._legs(who.only(rows), rows, each)
            self._placed.update((row, (legs, place)) for place, row in enumerate(rows.tolist()))

    def _legs(self, who: Participants, rows: npt.NDArray[np.intp], turns: Turns) -> list[Legs]:
        """Those of participants [r] with equally many turns [r, T]."""
        made, gaps = [], _gaps(self._link, who, turns.bits.shape[1])
        pauses = np.ceil(turns.pause_s / self._link.radio.slot_s - GRID)
        for turn, bits in enumerate(turns.bits.T):
            who = _begin(self._link, who, turn, pauses[:, turn], gaps)
            legs = Legs(self._link, self._offers[turn % 2].only(rows, bits), who, who.start)
            who = replace(who, start=legs.priced.gain)
            made.append(legs)
        return made

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, Leg]:
        """See Exchange."""
        legs, place = self._placed[row]
        return legs[turn].send(self._env, place)


class SharedExchange:
    """A round's transfers on bands that other transfers use at the same time."""

    def __init__(
        self,
        env: simpy.Environment,
        link: Link,
        who: Participants,
        turns: Sequence[Turns],
        bands: Mapping[Way, Band],
    ) -> None:
        self._env, self._link, self._turns, self._bands = env, link, turns, bands
        self._who = [who.only(np.array([row])) for row in range(len(who))]  # each as its last transfer left it
        self._gaps = [_gaps(link, one, len(each.bits)) for one, each in zip(self._who, turns, strict=True)]
        self._ended_s = np.full(len(who), float(env.now))

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, Leg]:
        """See Exchange."""
        env, link, bits = self._env, self._link, float(self._turns[row].bits[turn])
        pause = slots_begun(env.now - self._ended_s[row], link.radio.slot_s)
        who = _begin(link, self._who[row], turn, np.array([pause]), self._gaps[row])
        carrier = SharedCarrier(env, link, who, (bits, bits), self._bands)
        leg = yield from carrier.send(WAYS[turn % 2], 0, bits)
        self._who[row], self._ended_s[row] = replace(who, start=carrier.gain), env.now
        return leg


def _gaps(link: Link, who: Participants, turns: int) -> Complex:
    """Draws for the fading's jumps between turns [n, turns - 1]."""
    return link.complex_normals("fading_gap", who.drop.ids, who.index, turns - 1)


def _begin(link: Link, who: Participants, turn: int, pause_slots: npt.ArrayLike, gaps: Complex) -> Participants:
    """Participants [n] at the beginning of a turn: their fading has gone on for `pause_slots` [n]."""
    start = channel.fading.advance(who.start, who.correlation, pause_slots, gaps[:, turn - 1]) if turn else who.start
    return replace(who, start=start, attempts_before=turn // 2 * link.radio.faults.attempts)
