"""Devices that come and go by moving."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.streams import Streams
from edgefl.world.churn.base import NO_CHANGES, Changes, Churn, Covered, Holds, Presence

CHECK_S = 1.0
AHEAD = 60  # checks that are looked ahead for who is asked when it leaves
PATIENCE = 100_000  # looks until an empty place is given up; one passes over all checks at which nothing can change
SAME = 1e-9  # of a check: times that near are one


class CoverageChurn(Churn):
    """A device is there while it is within `cells.radius_m` of a base station and its movement has not left the map.

    Looked at every `check_s`; in between nothing changes.
    """

    check_s: Annotated[float, Field(ge=1e-3, le=1e6)] = CHECK_S

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """By the movement that the world shows it."""
        return Coverage(count, self.check_s)


@dataclass
class _Look:
    """Who [devices] is there at a check, and until when each certainly remains so."""

    check: int
    there: Bools
    until_s: Floats


class Coverage(Presence):
    """Goes on from what it saw last, and looks only at those who can have come or left; asked again, it says the same.

    Args:
        count: how many devices there are.
        check_s: how often is looked.
    """

    def __init__(self, count: int, check_s: float = CHECK_S) -> None:
        super().__init__(np.ones(count))
        self._everybody = np.arange(count, dtype=np.int64)
        self._check_s = check_s
        self._covered: Covered
        self._holds_s: Holds
        self._now: _Look | None = None  # of `present`
        self._told: _Look | None = None  # of `changes`

    def observe_coverage(self, covered: Covered, holds_s: Holds | None = None) -> None:
        """Take how to see who is in coverage, and how long that lasts; where that is not known, it can end at once."""
        self._covered = covered
        self._holds_s = holds_s or (lambda ids, time_s: np.full(len(ids), time_s))

    def _check(self, time_s: float) -> int:
        """The last check at a time."""
        return int(np.floor(time_s / self._check_s + SAME))

    def _there(self, ids: Ids, check: int) -> Bools:
        return self._covered(ids, check * self._check_s)

    def _look(self, check: int, last: _Look | None) -> _Look:
        """At a check: on from the last look, if that is not later."""
        if last is None or last.check > check:
            time_s = check * self._check_s
            return _Look(check, self._there(self._everybody, check), self._holds_s(self._everybody, time_s))
        for _ in self._on(last, check):
            pass
        return last

    def _on(self, look: _Look, last: int | None) -> Iterator[tuple[int, Ids]]:
        """Go on to the check `last`, or for so long as there is patience: who comes or leaves, check by check."""
        looks = 0
        while (soonest_s := look.until_s.min(initial=np.inf)) < np.inf and (looks := looks + 1):
            check = max(look.check + 1, math.ceil(soonest_s / self._check_s - SAME))
            if looks >= PATIENCE if last is None else check > last:
                break
            due = np.flatnonzero(look.until_s <= (check + SAME) * self._check_s)
            there = self._there(due, check)
            changed = due[there != look.there[due]]
            look.check, look.there[due] = check, there
            look.until_s[due] = self._holds_s(due, check * self._check_s)
            if changed.size:
                yield check, changed
        look.check = look.check if last is None else last

    def present(self, time_s: float, index: int) -> Ids:
        """Those who were covered at the last check."""
        self._now = self._look(self._check(time_s), self._now)
        return np.flatnonzero(self._now.there)

    def stays_until_s(self, ids: Ids, time_s: float) -> Floats:
        """The first check at which each is not covered; as far as one looks ahead."""
        first = self._check(time_s)
        stays = np.where(self._there(ids, first), (first + AHEAD) * self._check_s, time_s)
        staying = np.flatnonzero(stays > time_s)
        for check in range(first + 1, first + AHEAD):
            there = self._there(ids[staying], check)
            stays[staying[~there]] = check * self._check_s
            staying = staying[there]
        return stays

    def arrivals(self, time_s: float, among: Ids | None = None) -> tuple[float, Ids]:
        """The first check at which somebody is covered who was not at the one before; inf after very many looks."""
        now = self._now = self._look(self._check(time_s), self._now)
        look = replace(now, there=now.there.copy(), until_s=now.until_s.copy())
        if among is not None:
            look.until_s[np.setdiff1d(self._everybody, among)] = np.inf
        for check, changed in self._on(look, None):
            if (came := changed[look.there[changed]]).size:
                return check * self._check_s, came
        return np.inf, self._everybody[:0]

    def changes(self, after_s: float, until_s: float) -> Changes:
        """From check to check."""
        first, last = self._check(after_s), self._check(until_s)
        told = self._told if self._told and self._told.check == first else None
        self._told = look = self._look(first, told)
        found = [(check, ids, look.there[ids]) for check, ids in self._on(look, last)]
        if not found:
            return NO_CHANGES
        times = np.repeat([check * self._check_s for check, _, _ in found], [len(ids) for _, ids, _ in found])
        return Changes(times, *(np.concatenate(column) for column in list(zip(*found, strict=True))[1:]))
