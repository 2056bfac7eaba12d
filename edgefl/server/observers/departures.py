"""Departures of devices that take part: each ends the participation that it finds under way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.core.times import call_at
from edgefl.server.observer import Begun, Observer
from edgefl.server.participation import Participation
from edgefl.world.churn import Presence

FEW = 64  # participations that are kept whether their rounds are over or not


def ignore_departure(part: Participation) -> None:
    """Do nothing, as no battery is metered."""


class _Watched(NamedTuple):
    """A participation, and the time at which to look whether its device leaves."""

    time_s: float  # the device certainly stays until then
    order: int  # among equal times: the first watched comes first
    process: simpy.Process
    part: Participation


@dataclass(eq=False)
class Departures(Observer):
    """Interrupts participations whose devices leave before their round is over.

    Most devices outstay their round by far. So a single timer waits for the first time at which one may leave, rather
    than one a participation, which the event loop would have to sort and to keep long after the round.
    """

    env: simpy.Environment
    presence: Presence  # which devices are present
    # Called if a device leaves after its participation has ended and before its round does
    on_departure: Callable[[Participation], None] = ignore_departure

    def __post_init__(self) -> None:
        self._watched: list[_Watched] = []  # a heap
        self._orders = count()
        self._kept = FEW  # participations left when those of ended rounds were last dropped
        self._next_check_s = float("inf")  # when the timer ends

    def begins(self, begun: Begun) -> None:
        """Watch participations from now on until their round is over."""
        self.watch(begun.processes, begun.parts)

    def watch(self, processes: Sequence[simpy.Process], parts: Sequence[Participation]) -> None:
        """Watch the processes of participations [n] from now on until their round is over."""
        self._drop_ended()
        ids = np.array([part.device for part in parts], dtype=np.int64)
        stays_until_s = self.presence.stays_until_s(ids, self.env.now)
        for row in np.flatnonzero(stays_until_s < np.inf).tolist():
            self._add(float(stays_until_s[row]), processes[row], parts[row])
        self._set_timer()

    def _add(self, time_s: float, process: simpy.Process, part: Participation) -> None:
        if time_s < float("inf"):
            heappush(self._watched, _Watched(time_s, next(self._orders), process, part))

    def _drop_ended(self) -> None:
        """Drop participations whose round is over, once they may be as many as the others."""
        if len(self._watched) > 2 * self._kept:
            self._watched = [watched for watched in self._watched if not watched.part.closed]
            heapify(self._watched)
            self._kept = max(len(self._watched), FEW)

    def _set_timer(self) -> None:
        """Wait for the first time at which a device may leave, unless a timer will end by then."""
        if self._watched and self._watched[0].time_s < self._next_check_s:
            self._next_check_s = self._watched[0].time_s
            call_at(self.env, self._next_check_s, partial(self._check, self._next_check_s))

    def _check(self, time_s: float) -> None:
        """Interrupt the devices that leave now, at the end of the timer that was set for `time_s`."""
        if time_s != self._next_check_s:  # a timer that was set later has ended before this one
            return
        self._next_check_s = float("inf")
        now_s = self.env.now
        while self._watched and self._watched[0].time_s <= now_s:
            watched = heappop(self._watched)
            if not watched.part.closed:  # a later round that asks the device watches it again
                self._look_at(watched)
        self._set_timer()

    def _look_at(self, watched: _Watched) -> None:
        """Interrupt a participation whose device leaves now; keep watching it if the device stays."""
        # Presence gave only a time until which the device certainly stays; by now that may be later.
        device = np.array([watched.part.device])
        stays_until_s = float(self.presence.stays_until_s(device, self.env.now)[0])
        if stays_until_s > self.env.now:
            self._add(stays_until_s, watched.process, watched.part)
        elif watched.process.is_alive:
            watched.process.interrupt(DEPARTED)
        else:
            watched.part.stop_waiting(self.env.now)
            self.on_departure(watched.part)
