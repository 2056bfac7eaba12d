"""The check of background traffic."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgefl.radio.background import Background, OtherUsers
from edgefl.radio.transfers import WAYS, Way
from edgefl.testing.calls import Calls, kind
from edgefl.testing.report import Check, Report

CELLS = 200  # whose users are counted
CHANGES = 60  # that are followed in one cell
LONG_CELLS = 12  # in which a transfer is under way for long
LONG_CHANGES = 1200
LATER_S = 20.0
ERRORS = 5.0  # standard errors by which means may differ
SLACK = 0.08  # of the band: heavy tails need longer than a check lasts
SAME_S = 1e-6


def check_background(
    background: type[Background] | Background, *, bandwidth_hz: float = 20e6, stationary: bool = True, **keys: Any
) -> Report:
    """Check that other users come and go as a band needs it, and return the report.

    Args:
        background: the class, or an instance.
        bandwidth_hz: what a cell has for payload: it must be enough for the traffic.
        stationary: whether the traffic has the same law at any time; False for busy hours, for example.
        keys: the keys with which the class is checked.
    """
    calls = Calls(background, keys, Background, "background traffic")
    steady = calls.begin("until a change", "users and the free share stay as they are until next_change_s")
    looks = calls.begin("looks", "how often time is looked at changes nothing")
    stays = calls.begin("equilibrium", "as many users at the beginning as later, on average over cells")
    load = calls.begin("mean load", "a transfer that lasts long gets what mean_load leaves")
    for way in WAYS:
        with calls.noting("a cell's users"):
            mean_load = _mean_load(calls, way, bandwidth_hz)
            if calls.subject.times(way) == 0:  # users of this direction are never asked for
                continue
            cells = _Cells(calls, way, bandwidth_hz)
            for transfers in (0, 2):
                _check_changes(steady, looks, cells, transfers)
            if stationary:
                _check_equilibrium(calls, stays, cells)
                if mean_load is not None:
                    _check_load(calls, load, cells, mean_load)
    return calls.finished()


class _Users:
    """The users of one cell, each of whose numbers is checked when it is asked."""

    def __init__(self, calls: Calls[OtherUsers]) -> None:
        self.calls = calls
        self._users = calls.subject
        self.advance(0.0, 0)

    def advance(self, time_s: float, transfers: int) -> None:
        """Let time pass."""
        self._users.advance(time_s, transfers)

    @property
    def count(self) -> float:
        """How many users there are.

        Raises:
            Blamed: the number is impossible, which is noted.
        """
        count = float(self._users.count)
        if not 0 <= count < np.inf:
            self.calls.reject("count", f"returned {count:g}, expected how many users there are, from 0")
        return count

    def free_share(self, transfers: int) -> float:
        """Return the share of the band that they leave.

        Raises:
            Blamed: the share is impossible, which is noted.
        """
        share = float(self._users.free_share(transfers))
        if not 0 < share <= 1:
            text = f"returned {share:g}, expected the share that is left, above 0 and at most 1"
            self.calls.reject("free_share", text)
        return share

    def state(self, transfers: int) -> tuple[float, float]:
        """Return how many users there are, and what they leave."""
        return self.count, self.free_share(transfers)

    def next_s(self, transfers: int, now_s: float) -> float:
        """Return when the users change next.

        Raises:
            Blamed: that is not later than now, which is noted.
        """
        next_s = float(self._users.next_change_s(transfers))
        if not next_s > now_s:
            text = f"returned {next_s:.9g} s at {now_s:.9g} s, after advance was called: expected a later time, or inf"
            self.calls.reject("next_change_s", text)
        return next_s

    def is_like(self, other: _Users, transfers: int, now_s: float) -> bool:
        """Return whether two cells are in the same state, and stay so as long."""
        if self.state(transfers) != other.state(transfers):
            return False
        next_s = self.next_s(transfers, now_s)
        other_s = other.next_s(transfers, now_s)
        return next_s == other_s or abs(next_s - other_s) < SAME_S


class _Cells:
    """Cells with the traffic of a model, each with its own draws."""

    def __init__(self, calls: Calls[Background], way: Way, capacity_hz: float) -> None:
        self._calls = calls
        self._way: Way = way
        self._capacity_hz = capacity_hz

    def users(self, cell: int) -> _Users:
        """Return the users of a cell at time 0: the same ones for every call.

        Raises:
            Blamed: the model returned something else, which is noted.
        """
        model = self._calls.subject
        found: Any = model.users(self._way, self._capacity_hz, np.random.default_rng(cell))
        if not isinstance(found, OtherUsers):
            self._calls.reject("users", f"returned {kind(found)}, expected an OtherUsers of edgefl.radio.background")
        return _Users(self._calls.on(found))


def _mean_load(calls: Calls[Background], way: Way, bandwidth_hz: float) -> float | None:
    """Return the mean load of a direction; None if it depends on the devices.

    Raises:
        Blamed: it is wrong, which is noted.
    """
    found: Any = calls.of("mean_load", way, bandwidth_hz)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float | np.number) or not found >= 0:
        calls.reject("mean_load", f"returned {found!r}, expected a share of the band from 0, or None")
    load = float(found)
    if load >= 1:
        text = f"returned {load:g} of the {way}link's {bandwidth_hz:g} Hz, expected less than 1"
        calls.reject("mean_load", f"{text}: check with less traffic or a larger bandwidth_hz")
    return load


def _check_changes(steady: Check, looks: Check, cells: _Cells, transfers: int) -> None:
    """Follow one cell from change to change, and look at another one with the same draws in between, too."""
    users = cells.users(0)
    often = cells.users(0)
    now_s = 0.0
    for _ in range(CHANGES):
        before = users.state(transfers)
        next_s = users.next_s(transfers, now_s)
        if next_s == np.inf:
            next_s = now_s + LATER_S
        middle_s = (now_s + next_s) / 2
        often.advance(middle_s, transfers)
        if often.state(transfers) != before:
            text = f"says that nothing changes until {next_s:.6g} s, but at {middle_s:.6g} s it has"
            users.calls.note(steady, "next_change_s", text)
            return
        users.advance(next_s, transfers)
        often.advance(next_s, transfers)
        now_s = next_s
        if not users.is_like(often, transfers, now_s):
            # Rounding may put a change just behind the time at which it was announced.
            now_s += SAME_S
            often.advance(now_s, transfers)
            users.advance(now_s, transfers)
            if not users.is_like(often, transfers, now_s):
                text = "leads to other users if it is also called between two changes: keep what is left of each"
                users.calls.note(looks, "advance", text)
                return


def _check_equilibrium(calls: Calls[Background], stays: Check, cells: _Cells) -> None:
    """Compare the mean number of users at the beginning and later, in cells without transfers."""
    at_first = []
    later = []
    for number in range(CELLS):
        users = cells.users(number)
        at_first.append(users.count)
        users.advance(LATER_S, 0)
        later.append(users.count)
    error = np.hypot(np.std(at_first), np.std(later)) / np.sqrt(CELLS)
    first, then = float(np.mean(at_first)), float(np.mean(later))
    if abs(first - then) > ERRORS * error + SAME_S:
        text = f"returned {first:.3g} users a cell on average, and there are {then:.3g} after {LATER_S:g} s"
        calls.note(stays, "users", f"{text}: begin in equilibrium, or check with stationary=False")


def _check_load(calls: Calls[Background], load: Check, cells: _Cells, mean_load: float) -> None:
    """Compare what a transfer gets that never ends with what the mean load leaves: work is conserved."""
    shares = [_mean_share(cells.users(number)) for number in range(LONG_CELLS)]
    found = float(np.mean(shares))
    bound = ERRORS * float(np.std(shares)) / np.sqrt(LONG_CELLS) + SLACK
    if abs(found - (1 - mean_load)) > bound:
        text = f"returned {mean_load:.3g}, but one long transfer gets {found:.3g} of the band, not {1 - mean_load:.3g}"
        calls.note(load, "mean_load", text)


def _mean_share(users: _Users) -> float:
    """Return the mean share of one transfer in a cell, once it has settled."""
    now_s = 0.0
    durations_s = []
    shares = []
    for _ in range(LONG_CHANGES):
        next_s = users.next_s(1, now_s)
        share = users.free_share(1)
        if next_s == np.inf:
            return share
        durations_s.append(next_s - now_s)
        shares.append(share)
        users.advance(next_s, 1)
        now_s = next_s
    settled = LONG_CHANGES // 4
    return float(np.average(shares[settled:], weights=durations_s[settled:]))
