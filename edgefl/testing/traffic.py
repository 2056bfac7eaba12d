"""The checks of what shares a link or stands for one: other users, and recorded links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from channel.link_traces import Opportunities, SnrSteps, Steps
from edgefl.radio.background import Background, OtherUsers
from edgefl.radio.traces import LinkTrace, Recording
from edgefl.radio.traces.base import HIGHEST_BPS, LARGEST_SNR_DB
from edgefl.radio.transfers import WAYS, Way
from edgefl.testing.calls import RETURNS, Calls, Property
from edgefl.testing.report import Report
from edgefl.testing.values import kind

# Recorded links

RECORDINGS = "recordings"
PARTS = 7  # of a recording, at whose borders transfers begin and end
ROUNDING = 1e-6  # of the time that an amount takes


def check_traces(trace: type[LinkTrace] | LinkTrace, **keys: Any) -> Report:
    """Check that recorded links are possible ones, and return the report."""
    calls = Calls(trace, keys, LinkTrace, "recorded links")
    calls.check(
        Property(RETURNS, _recordings_are_alike),
        Property(RETURNS, _values_are_possible),
        Property("carries", _some_link_carries, "in each direction some link carries something"),
        Property("takes", _takes_inverts_carried, "an amount takes as long as the link takes to carry it"),
        Property("begins", _begins_within, "the run begins within the recordings"),
    )
    return calls.finished()


def _recordings_are_alike(calls: Calls) -> None:
    calls.returned("source", calls.subject.source, "an empty text, expected what messages call the recordings")
    found = calls.of(RECORDINGS)
    is_list = isinstance(found, list) and len(found) > 0
    got = "an empty list" if found == [] else kind(found)
    calls.returned(RECORDINGS, is_list, f"{got}, expected a list of Recording, one or more")
    for number, each in enumerate(found):
        is_named = isinstance(each, Recording) and isinstance(each.name, str)
        text = f"{kind(each)} as number {number}, expected a Recording with a name"
        calls.returned(RECORDINGS, is_named, text)
    links: list[Any] = [link for each in found for link in (each.down, each.up)]
    for link in links:
        text = f"a recording with {kind(link)}, expected Steps, Opportunities or SnrSteps"
        calls.returned(RECORDINGS, isinstance(link, Steps | Opportunities | SnrSteps), text)
    with_snr = {isinstance(link, SnrSteps) for link in links}
    calls.returned(RECORDINGS, len(with_snr) == 1, "both rates and SNRs: return only rates, or only SNRs")


def _links(calls: Calls) -> list[tuple[str, Any]]:
    _recordings_are_alike(calls)
    found = calls.subject.recordings()
    ways = (("downlink", "down"), ("uplink", "up"))
    return [(f"{name} {number}", getattr(each, way)) for name, way in ways for number, each in enumerate(found)]


def _values_are_possible(calls: Calls) -> None:
    for name, link in _links(calls):
        if isinstance(link, SnrSteps):
            largest_db = np.abs(link.snr_db).max()
            text = f"returned an SNR of {largest_db:g} dB in size, expected at most {LARGEST_SNR_DB:g} dB"
            calls.require(RECORDINGS, largest_db <= LARGEST_SNR_DB, text)
            continue
        highest_bps = link.rate.max() if isinstance(link, Steps) else link.total / link.end_s
        text = f"returned {highest_bps:.3g} bit/s in {name}: at most {HIGHEST_BPS:g}; are these bits per second?"
        calls.require(RECORDINGS, highest_bps <= HIGHEST_BPS, text)


def _some_link_carries(calls: Calls) -> None:
    links = _links(calls)
    for way in ("downlink", "uplink"):
        carries = any(isinstance(link, SnrSteps) or link.total > 0 for name, link in links if name.startswith(way))
        calls.require(RECORDINGS, carries, f"returned {way}s that carry nothing at any time")


def _takes_inverts_carried(calls: Calls) -> None:
    """`takes_s` inverts `carried`, also where the recording repeats."""
    for name, link in _links(calls):
        if isinstance(link, SnrSteps):
            continue
        borders_s = np.linspace(0.0, 1.6, PARTS) * link.end_s
        for begin_s in borders_s[:-1].tolist():
            for end_s in borders_s[borders_s > begin_s].tolist():
                amount = link.carried(begin_s, end_s)
                took_s = link.takes_s(begin_s, amount)
                again = link.carried(begin_s, begin_s + took_s)
                in_time = took_s <= (end_s - begin_s) * (1 + ROUNDING) and again >= amount * (1 - ROUNDING)
                text = f"returned a {name} that carries {amount:.6g} bits in {end_s - begin_s:.6g} s"
                calls.require(RECORDINGS, in_time, f"{text}, and says that they take {took_s:.6g} s")


def _begins_within(calls: Calls) -> None:
    subject = calls.subject
    shortest_s = min(link.end_s for _, link in _links(calls))
    if subject.at_end == "error" and subject.begin_s >= shortest_s:
        text = f"begin_s = {subject.begin_s:g} s is not before the end of the shortest, {shortest_s:g} s"
        calls.fault(f"{type(subject).__name__}: {text}: lower it, or set at_end to repeat")


# Background traffic

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
    # Users of a direction without traffic are never asked for.
    ways = [_Cells(calls, way, bandwidth_hz) for way in WAYS if calls.subject.times(way) > 0]
    cases = [(cells, transfers) for cells in ways for transfers in (0, 2)]
    settled = [(cells,) for cells in ways if stationary]
    calls.check(Property(RETURNS, _mean_load_fits, cases=[(way, bandwidth_hz) for way in WAYS]))
    steady = "users and the free share stay as they are until next_change_s"
    calls.check(
        Property("until a change", _nothing_changes_before, steady, cases),
        Property("looks", _looks_change_nothing, "how often time is looked at changes nothing", cases),
        Property(
            "equilibrium",
            _begins_settled,
            "as many users at the beginning as later, on average over cells",
            settled,
        ),
        Property("mean load", _work_is_conserved, "a transfer that lasts long gets what mean_load leaves", settled),
    )
    return calls.finished()


class _Users:
    """The users of one cell, each of whose numbers is checked when it is asked."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self._users = calls.subject
        self.now_s = 0.0
        self.advance(0.0, 0)

    def advance(self, time_s: float, transfers: int) -> None:
        self._users.advance(time_s, transfers)
        self.now_s = time_s

    def count(self) -> float:
        count = float(self._users.count)
        text = f"{count:g}, expected how many users there are, from 0"
        self.calls.returned("count", 0 <= count < np.inf, text)
        return count

    def free_share(self, transfers: int) -> float:
        share = float(self._users.free_share(transfers))
        text = f"{share:g}, expected the share that is left, above 0 and at most 1"
        self.calls.returned("free_share", 0 < share <= 1, text)
        return share

    def next_s(self, transfers: int) -> float:
        next_s = float(self._users.next_change_s(transfers))
        text = f"{next_s:.9g} s at {self.now_s:.9g} s, after advance was called: expected a later time, or inf"
        self.calls.returned("next_change_s", next_s > self.now_s, text)
        return next_s

    def state(self, transfers: int) -> tuple[float, float]:
        return self.count(), self.free_share(transfers)

    def is_like(self, other: _Users, transfers: int) -> bool:
        """Return whether two cells are in the same state, and stay so as long."""
        if self.state(transfers) != other.state(transfers):
            return False
        return bool(np.isclose(self.next_s(transfers), other.next_s(transfers), rtol=0, atol=SAME_S))


@dataclass(frozen=True)
class _Cells:
    """Cells with the traffic of a model, each with its own draws."""

    calls: Calls
    way: Way
    capacity_hz: float

    def users(self, cell: int) -> _Users:
        """Return the users of a cell at time 0: the same ones for every call."""
        found: Any = self.calls.subject.users(self.way, self.capacity_hz, np.random.default_rng(cell))
        text = f"{kind(found)}, expected an OtherUsers of edgefl.radio.background"
        self.calls.returned("users", isinstance(found, OtherUsers), text)
        return _Users(self.calls.on(found))


def _mean_load_fits(calls: Calls, way: Way, bandwidth_hz: float) -> None:
    load: Any = calls.of("mean_load", way, bandwidth_hz)
    if load is None:
        return
    is_number = isinstance(load, int | float | np.number) and not isinstance(load, bool) and load >= 0
    calls.require("mean_load", is_number, f"returned {load!r}, expected a share of the band from 0, or None")
    text = f"returned {load:g} of the {way}link's {bandwidth_hz:g} Hz, expected less than 1"
    calls.require("mean_load", load < 1, f"{text}: check with less traffic or a larger bandwidth_hz")


def _nothing_changes_before(calls: Calls, cells: _Cells, transfers: int) -> None:
    """Users stay as they are until the middle of each time for which they say so."""
    users = cells.users(0)
    for _ in range(CHANGES):
        before = users.state(transfers)
        next_s = min(users.next_s(transfers), users.now_s + LATER_S)
        middle_s = (users.now_s + next_s) / 2
        users.advance(middle_s, transfers)
        text = f"says that nothing changes until {next_s:.6g} s, but at {middle_s:.6g} s it has"
        users.calls.require("next_change_s", users.state(transfers) == before, text)
        # Rounding may put a change just behind the time at which it was announced.
        users.advance(next_s + SAME_S, transfers)


def _looks_change_nothing(calls: Calls, cells: _Cells, transfers: int) -> None:
    """Follow one cell from change to change, and look at another one with the same draws in between, too."""
    users = cells.users(0)
    often = cells.users(0)
    for _ in range(CHANGES):
        next_s = min(users.next_s(transfers), users.now_s + LATER_S)
        often.advance((users.now_s + next_s) / 2, transfers)
        # Rounding may put a change just behind the time at which it was announced.
        for time_s in (next_s, next_s + SAME_S):
            users.advance(time_s, transfers)
            often.advance(time_s, transfers)
            is_like = users.is_like(often, transfers)
            if is_like:
                break
        text = "leads to other users if it is also called between two changes: keep what is left of each"
        users.calls.require("advance", is_like, text)


def _begins_settled(calls: Calls, cells: _Cells) -> None:
    """There are as many users at the beginning as later, in cells without transfers."""
    counts = []
    for number in range(CELLS):
        users = cells.users(number)
        at_first = users.count()
        users.advance(LATER_S, 0)
        counts.append((at_first, users.count()))
    first, then = np.mean(counts, axis=0)
    error = np.hypot(*np.std(counts, axis=0)) / np.sqrt(CELLS)
    text = f"returned {first:.3g} users a cell on average, and there are {then:.3g} after {LATER_S:g} s"
    remedy = "begin in equilibrium, or check with stationary=False"
    calls.require("users", abs(first - then) <= ERRORS * error + SAME_S, f"{text}: {remedy}")


def _work_is_conserved(calls: Calls, cells: _Cells) -> None:
    """A transfer that never ends gets what the mean load leaves."""
    load = calls.subject.mean_load(cells.way, cells.capacity_hz)
    if load is None:
        return
    shares = [_mean_share(cells.users(number)) for number in range(LONG_CELLS)]
    found = float(np.mean(shares))
    bound = ERRORS * float(np.std(shares)) / np.sqrt(LONG_CELLS) + SLACK
    text = f"returned {load:.3g}, but one long transfer gets {found:.3g} of the band, not {1 - load:.3g}"
    calls.require("mean_load", abs(found - (1 - load)) <= bound, text)


def _mean_share(users: _Users) -> float:
    durations_s = []
    shares = []
    for _ in range(LONG_CHANGES):
        next_s = users.next_s(1)
        shares.append(users.free_share(1))
        if next_s == np.inf:
            return shares[-1]
        durations_s.append(next_s - users.now_s)
        users.advance(next_s, 1)
    settled = LONG_CHANGES // 4
    return float(np.average(shares[settled:], weights=durations_s[settled:]))
