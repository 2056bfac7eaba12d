"""Devices that come and go by moving."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.streams import Streams
from edgefl.core.times import SAME_STEP, steps_begun, steps_completed
from edgefl.world.churn.base import Changes, Churn, CoverageHorizon, CoverageTest, Presence
from edgefl.world.next_events import due_devices

CHECK_S = 1.0  # also where movement leads out under another churn
CHECKS_AHEAD = 60  # how far `stays_until_s` tests; callers ask again after that
MOST_CHECKS = 100_000  # until the search for an arrival gives up; checks at which nothing can change are not counted


class CoverageChurn(Churn):
    """A device is present while it is within `cells.radius_m` of a base station and its movement has not left the map.

    Checked every `check_s`; in between nothing changes.
    """

    check_s: Annotated[float, Field(ge=1e-3, le=1e6)] = CHECK_S  # Time between two checks.

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Return a population that is present while it is covered."""
        return Coverage(count, self.check_s)


@dataclass
class _Observation:
    """Coverage of all devices [devices] as seen at a check."""

    check: int  # its number: it is at check * check_s
    covered: Bools
    holds_until_s: Floats  # when `covered` may change for each


class Coverage(Presence):
    """Devices are present while a base station covers them, seen at checks every `check_s`.

    It continues from its last observation, and tests only the devices whose answer can have changed.
    """

    follows_coverage: ClassVar[bool] = True

    def __init__(self, count: int, check_s: float = CHECK_S) -> None:
        super().__init__(np.ones(count))  # how often movement leads out is unknown
        self._all_ids = np.arange(count, dtype=np.int64)
        self._check_s = check_s
        self._is_covered: CoverageTest
        self._holds_until_s: CoverageHorizon
        self._latest: _Observation | None = None  # for `present` and `arrivals`
        self._reported: _Observation | None = None  # for `changes`, which are asked for in order of time

    def observe_coverage(self, is_covered: CoverageTest, holds_until_s: CoverageHorizon | None = None) -> None:
        """See Presence."""
        self._is_covered = is_covered
        self._holds_until_s = holds_until_s or _holds_for_no_time

    def _last_check(self, time_s: float) -> int:
        return steps_completed(time_s, self._check_s)

    def _test(self, ids: Ids, check: int) -> Bools:
        return self._is_covered(ids, check * self._check_s)

    def _observe(self, check: int, last: _Observation | None) -> _Observation:
        """Return an observation at a check, from the last one unless that is later."""
        if last is None or last.check > check:
            covered = self._test(self._all_ids, check)
            return _Observation(check, covered, self._holds_until_s(self._all_ids, check * self._check_s))
        for _ in self._advance(last, check):  # changes `last`
            pass
        return last

    def _advance(self, observation: _Observation, last_check: int | None) -> Iterator[tuple[int, Ids]]:
        """Move an observation on to `last_check`, or by MOST_CHECKS if None; yield each check with its changed devices.

        Unlike events of single devices, checks must be visited in order, as each may be the last.
        """
        checks = 0
        while True:
            soonest_s = observation.holds_until_s.min(initial=np.inf)
            if soonest_s == np.inf:  # nothing ever changes again
                break
            checks += 1
            # No answer changes before `soonest_s`, so the checks until then are skipped.
            check = max(observation.check + 1, steps_begun(soonest_s, self._check_s))
            gives_up = last_check is None and checks >= MOST_CHECKS
            if gives_up or (last_check is not None and check > last_check):
                break
            due = due_devices(observation.holds_until_s, (check + SAME_STEP) * self._check_s)
            covered = self._test(due, check)
            changed = due[covered != observation.covered[due]]
            observation.check = check
            observation.covered[due] = covered
            observation.holds_until_s[due] = self._holds_until_s(due, check * self._check_s)
            if changed.size:
                yield check, changed
        if last_check is not None:
            observation.check = last_check

    def present(self, time_s: float, index: int) -> Ids:
        """Return the devices that were covered at the last check."""
        self._latest = self._observe(self._last_check(time_s), self._latest)
        return np.flatnonzero(self._latest.covered)

    def stays_until_s(self, ids: Ids, time_s: float) -> Floats:
        """Return the first check at which each of devices [n] is not covered, or a time until which it certainly is."""
        first = self._last_check(time_s)
        certain_s = self._holds_until_s(ids, first * self._check_s)
        end_s = np.maximum(certain_s, (first + CHECKS_AHEAD) * self._check_s)
        stays_s = np.where(self._test(ids, first), end_s, time_s)
        staying = np.flatnonzero(stays_s > time_s)  # rows of `ids`: only those still covered are tested again
        for check in range(first + 1, first + CHECKS_AHEAD):
            due = staying[certain_s[staying] <= (check + SAME_STEP) * self._check_s]
            if not due.size:
                continue
            left = due[~self._test(ids[due], check)]
            stays_s[left] = check * self._check_s
            staying = np.setdiff1d(staying, left, assume_unique=True)
        return stays_s

    def arrivals(self, time_s: float, among: Ids | None = None) -> tuple[float, Ids]:
        """Return the next check at which a device becomes covered, and which ones do; inf if the search gives up."""
        self._latest = self._observe(self._last_check(time_s), self._latest)
        ahead = deepcopy(self._latest)  # the search must not change the present
        if among is not None:
            others = np.setdiff1d(self._all_ids, among)
            ahead.holds_until_s[others] = np.inf  # never due, so never looked at
        for check, changed in self._advance(ahead, None):
            came = changed[ahead.covered[changed]]
            if came.size:
                return check * self._check_s, came
        return np.inf, self._all_ids[:0]

    def changes(self, after_s: float, until_s: float) -> Changes:
        """Return all changes from check to check."""
        first = self._last_check(after_s)
        last = self._last_check(until_s)
        before = self._reported
        if before is not None and before.check != first:
            before = None
        self._reported = observation = self._observe(first, before)
        pieces = []
        for check, ids in self._advance(observation, last):
            times_s = np.full(len(ids), check * self._check_s)
            pieces.append(Changes(times_s, ids, observation.covered[ids]))
        return Changes.concatenate(pieces)


def _holds_for_no_time(ids: Ids, time_s: float) -> Floats:
    return np.full(len(ids), time_s)
