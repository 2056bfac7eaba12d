"""Batteries: how much is in them at a time, who has run out, and when the next is charged again."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.distributions import HOUR, NON_NEGATIVE, POSITIVE, SHARE, Distribution, PerDevice
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.world.churn.base import NO_CHANGES, Changes
from edgefl.world.devices_section import Devices, Hardware

HOUR_S = 3_600.0
DAY_S = 24 * HOUR_S
SAME = 1e-9  # of the capacity: what rises by less in a day does not rise
AFTER = 1 + 1e-14  # one moment's times, each computed in its own way, may differ by so much


class BatteryParameters(NamedTuple):
    """What the batteries [devices] are like; a device without one has an infinite capacity."""

    capacity_j: Floats
    start_j: Floats
    idle_w: Floats  # while they take no part
    reserve_j: Floats  # down there a device leaves ...
    resume_j: Floats  # ... and up there it comes back
    from_s: Floats  # of a day: when the first of its windows begins
    charging_w: Floats  # [devices, windows] in each of them, in the order of the day
    window_s: Floats  # [devices, windows] how long it goes on; a whole day is for ever
    cycle_s: Floats  # [devices, windows] from its beginning to that of the next one

    @classmethod
    def drawn(cls, devices: Devices, streams: Streams) -> BatteryParameters:
        """Those of a scenario.

        Raises:
            InputError: a device draws what cannot be.
        """

        def draw(name: str, bound: PerDevice, key: str, without: float) -> Floats:
            return devices.draw(name, bound, streams, _at(key, without))

        capacity = draw("capacity_j", POSITIVE, "capacity_j", np.inf)
        shares = [draw(key, SHARE, key, 0.0) for key in ("start", "reserve", "resume")]
        levels = [np.multiply(share, capacity, out=np.zeros(devices.count), where=share > 0) for share in shares]
        start, reserve, resume = np.where(np.isinf(capacity), [[np.inf], [0.0], [0.0]], levels)
        return cls(
            capacity_j=capacity,
            start_j=start,
            idle_w=draw("idle_w", NON_NEGATIVE, "idle_w", 0.0),
            reserve_j=reserve,
            resume_j=resume,
            **_timetable(devices, streams),
        )


def _at(key: str, without: float) -> Callable[[Hardware], Distribution | float]:
    """What stands there in a battery; `without` where a device has none."""
    return lambda hardware: getattr(hardware.battery, key) if hardware.battery else without


def _timetable(devices: Devices, streams: Streams) -> dict[str, Floats]:
    """When each device is charged, and how fast: columns of `BatteryParameters`.

    Who has fewer windows than others has more without any length behind the last one.

    Raises:
        InputError: a device draws what cannot be, or windows that overlap.
    """
    counts = [len(made.battery.charging) if made.battery else 0 for made in devices.made_of]
    own = np.repeat(np.maximum(counts, 1), [end - first for first, end in devices.borders])  # [devices]
    drawn = [_window(devices, streams, place) for place in range(own.max())]
    power_w, from_s, window_s = (np.stack(each, axis=1) for each in zip(*drawn, strict=True))
    rows, real = np.arange(len(own)), np.arange(own.max()) < own[:, None]
    order = np.argsort(np.where(real, from_s, np.inf), axis=1, kind="stable")
    power_w, from_s, window_s = (np.take_along_axis(each, order, axis=1) for each in (power_w, from_s, window_s))
    cycle_s = np.diff(from_s, axis=1, append=0.0)
    cycle_s[rows, own - 1] = DAY_S - (from_s[rows, own - 1] - from_s[:, 0])
    if (over := np.flatnonzero((real & (window_s > cycle_s)).any(axis=1))).size:
        raise InputError(f"devices.battery.charging: windows of device {over[0]} overlap: set them apart, or join them")
    lengths = {"window_s": np.where(real, window_s, 0.0), "cycle_s": np.where(real, cycle_s, 0.0)}
    return {"from_s": from_s[:, 0], "charging_w": power_w, **lengths}


def _window(devices: Devices, streams: Streams, place: int) -> tuple[Floats, Floats, Floats]:
    """Power, beginning and length [devices] of a window, from 0; none has 0 W and a whole day."""
    keyed = streams.apart(f"window {place + 1}") if place else streams

    def draw(name: str, bound: PerDevice, key: str) -> Floats:
        def of(hardware: Hardware) -> Distribution | float:
            windows = hardware.battery.charging if hardware.battery else ()
            return getattr(windows[place], key) if place < len(windows) else 0.0

        return devices.draw(name, bound, keyed, of)

    begin, end = draw("from_h", HOUR, "from_h"), draw("to_h", HOUR, "to_h")
    window = (end - begin) % 24
    return draw("charging_w", POSITIVE, "power_w"), begin % 24 * HOUR_S, np.where(window == 0, 24, window) * HOUR_S


class Batteries:
    """The levels of all devices. Between changes of what a device draws they are straight lines, clipped.

    Going on costs a comparison a device, and a step for each that runs out, is charged, plugged in or unplugged.
    """

    def __init__(self, supply: BatteryParameters) -> None:
        self._supply = supply
        self._level_j, self._draw_w = supply.start_j.copy(), supply.idle_w.copy()
        self._since_s = np.zeros(len(self._level_j))  # the time of that level
        self.has_battery = np.isfinite(supply.capacity_j)  # [devices] who has a battery
        self.usable = supply.start_j > supply.reserve_j  # [devices] who has not run out, or has been charged since
        # the window that began last, whether it is open, and until when that remains so
        self._window, self._plugged, self._border_s = _begin(supply)
        self._next_s = np.full(len(self._level_j), np.inf)  # when something happens to each
        self._ran_out_s = np.full(len(self._level_j), np.inf)  # since it last began a part
        self._busy = np.zeros(len(self._level_j), dtype=np.bool_)  # [devices] who takes part
        # into all batteries and, by those who took no part, out of them: in lines that ended
        self._moved_j = np.zeros(2)
        self._told_j = np.zeros(2)  # of it, in rounds that ended
        self._log: list[Changes] = []
        self._plan(np.arange(len(self._level_j)))

    def with_charge(self, ids: Ids, time_s: float) -> Ids:
        """Those of devices [n] that have enough."""
        self.advance(time_s)
        return ids[self.usable[ids]]

    def levels_j(self, ids: Ids, time_s: Floats | float) -> Floats:
        """What devices [n] have at a time, not before the one gone on to and not after their next change."""
        gained = self._net_w(ids) * (time_s - self._since_s[ids])
        return np.clip(self._level_j[ids] + gained, 0.0, self._supply.capacity_j[ids])

    def draw(self, ids: Ids, power_w: Floats | float, time_s: float) -> None:
        """From now on devices [n] draw so much; those that have run out draw what they draw alone."""
        self.advance(time_s, ids)
        self._settle(ids, time_s)
        self._draw_w[ids] = np.where(self.usable[ids], power_w, self._supply.idle_w[ids])
        self._plan(ids)

    def begin(self, ids: Ids, power_w: Floats, time_s: float) -> None:
        """Devices [n] begin a part, and draw so much."""
        self.draw(ids, power_w, time_s)
        self._ran_out_s[ids], self._busy[ids] = np.inf, self.usable[ids]

    def release(self, ids: Ids, time_s: float) -> None:
        """Devices [n] take no part any more."""
        self.draw(ids, self._supply.idle_w[ids], time_s)
        self._busy[ids] = False

    def capacity_j(self, ids: Ids) -> Floats:
        """What the batteries of devices [n] can hold; nan on mains."""
        return np.where(self.has_battery[ids], self._supply.capacity_j[ids], np.nan)

    def next_s(self, device: int) -> float:
        """When something happens to a device, if it goes on as it does."""
        return float(self._next_s[device])

    def ran_out_s(self, device: int) -> float:
        """When a device ran out in or after the part that it began last; inf: it has not."""
        return float(self._ran_out_s[device])

    def advance(self, time_s: float, ids: Ids | None = None) -> None:
        """Take in all that happens not later than a time, to some devices or to all."""
        due = np.flatnonzero(self._next_s <= time_s) if ids is None else ids[self._next_s[ids] <= time_s]
        while due.size:
            at_s = self._next_s[due].copy()
            self._settle(due, at_s)
            crosses = at_s < self._border_s[due]
            self._cross(due[crosses], at_s[crosses])
            self._turn(due[~crosses])
            self._plan(due)
            due = due[self._next_s[due] <= time_s]

    def changes(self) -> Changes:
        """Who was charged (came) or has run out since this was asked last."""
        log, self._log = self._log, []
        return Changes(*map(np.concatenate, zip(*log, strict=True))) if log else NO_CHANGES

    def columns(self, time_s: float) -> dict[str, float]:
        """Of rounds.csv: devices without charge, the mean level of batteries, and what all of these hold.

        Besides, since this was asked last: what they have been charged with, and have drawn while they took no part.
        """
        self.advance(time_s)
        ids = np.flatnonzero(self.has_battery)
        level_j = self.levels_j(ids, time_s)
        moved_j = self._moved_j + self._flows_j(ids, time_s, level_j)
        (charged_j, drained_j), self._told_j = (moved_j - self._told_j).tolist(), moved_j
        return {
            "depleted": int((~self.usable).sum()),
            "battery": float((level_j / self._supply.capacity_j[ids]).mean()),
            "stored_j": float(level_j.sum()),
            "charged_j": charged_j,
            "drained_j": drained_j,
        }

    def next_charged_s(self, ids: Ids, time_s: float) -> float:
        """When the first of those of devices [n] that have run out is charged; inf: none of them, ever."""
        self.advance(time_s)
        low = ids[~self.usable[ids]]
        if not low.size:
            return np.inf
        self._settle(low, time_s)
        state = self._level_j[low], self._window[low], self._plugged[low], self._border_s[low]
        return (
            float(_charged_s(BatteryParameters(*(column[low] for column in self._supply)), *state, time_s).min())
            * AFTER
        )

    def _net_w(self, ids: Ids) -> Floats:
        """What goes into batteries [n]."""
        return self._offered_w(ids) - self._draw_w[ids]

    def _offered_w(self, ids: Ids) -> Floats:
        """What chargers of devices [n] give."""
        return np.where(self._plugged[ids], self._supply.charging_w[ids, self._window[ids]], 0.0)

    def _flows_j(self, ids: Ids, time_s: Floats | float, level_j: Floats) -> Floats:
        """What has gone into batteries [n], and out of those that take no part, since their lines began; sums [2].

        Into a full one goes no more than is drawn, out of an empty one comes no more than goes in.

        Args:
            ids: the devices.
            time_s: now, of each or of all.
            level_j: [n] what they have now.
        """
        owned = self.has_battery[ids]
        lasted_s = (time_s - self._since_s[ids])[owned]
        ids, level_j = ids[owned], level_j[owned]
        gained_j = level_j - self._level_j[ids]
        offered_j = self._offered_w(ids) * lasted_s
        drawn_j = np.where(self._net_w(ids) > 0, self._draw_w[ids] * lasted_s, offered_j - gained_j)
        return np.array([(gained_j + drawn_j).sum(), drawn_j[~self._busy[ids]].sum()])

    def _settle(self, ids: Ids, time_s: Floats | float) -> None:
        """Begin new lines at a time [n]."""
        level_j = self.levels_j(ids, time_s)
        self._moved_j = self._moved_j + self._flows_j(ids, time_s, level_j)
        self._level_j[ids], self._since_s[ids] = level_j, time_s

    def _plan(self, ids: Ids) -> None:
        """See what happens next: a device runs out, is charged, or is plugged in or unplugged."""
        net_w, usable = self._net_w(ids), self.usable[ids]
        goal_j = np.where(usable, self._supply.reserve_j[ids], self._supply.resume_j[ids])
        moves = np.where(usable, net_w < 0, net_w > 0)
        after_s = np.divide(goal_j - self._level_j[ids], net_w, out=np.full(len(ids), np.inf), where=moves)
        self._next_s[ids] = np.minimum(self._border_s[ids], self._since_s[ids] + np.maximum(after_s, 0.0))

    def _cross(self, ids: Ids, at_s: Floats) -> None:
        """Devices [n] run out, and then take no part; or they are charged."""
        supply, out = self._supply, self.usable[ids]
        self._level_j[ids] = np.where(out, supply.reserve_j[ids], supply.resume_j[ids])
        self.usable[ids] = ~out
        self._draw_w[ids], self._busy[ids] = supply.idle_w[ids], False
        self._ran_out_s[ids] = np.where(out, np.minimum(self._ran_out_s[ids], at_s), self._ran_out_s[ids])
        self._log.append(Changes(at_s, ids, ~out))

    def _turn(self, ids: Ids) -> None:
        """Devices [n] are plugged in or unplugged."""
        turned = _turned(self._supply, ids, self._window[ids], self._plugged[ids])
        self._window[ids], self._plugged[ids], lasts_s = turned
        self._border_s[ids] += lasts_s


def _begin(supply: BatteryParameters) -> tuple[Ids, Bools, Floats]:
    """The window [devices] that began last at time 0, who is plugged in, and until when that remains so."""
    since_s, rows = -supply.from_s % DAY_S, np.arange(len(supply.from_s))
    begins_s = np.cumsum(supply.cycle_s, axis=1) - supply.cycle_s  # since the first one's beginning
    window = np.maximum((begins_s <= since_s[:, None]).sum(axis=1) - 1, 0)
    since_s = since_s - begins_s[rows, window]
    length_s, cycle_s = supply.window_s[rows, window], supply.cycle_s[rows, window]
    charged = supply.charging_w[rows, window] > 0
    plugged = (since_s < length_s) & charged
    border_s = np.where(plugged, length_s, cycle_s) - since_s
    turns = (supply.charging_w > 0).any(axis=1) & (supply.window_s[:, 0] < DAY_S)
    return window, plugged, np.where(turns, border_s, np.inf)


def _turned(supply: BatteryParameters, rows: Ids, window: Ids, plugged: Bools) -> tuple[Ids, Bools, Floats]:
    """What comes after a window [n], or after the pause behind it: its number, whether it is one, how long it lasts."""
    window = np.where(plugged, window, (window + 1) % supply.window_s.shape[1])
    length_s, cycle_s = supply.window_s[rows, window], supply.cycle_s[rows, window]
    return window, ~plugged, np.where(plugged, cycle_s - length_s, length_s)


def _charged_s(
    own: BatteryParameters, level_j: Floats, window: Ids, plugged: Bools, border_s: Floats, now_s: float
) -> Floats:
    """When devices [n] that have run out and take no part come back; inf: never.

    A day takes a level x to max(x + a, b), a and b being the same every day. So in the second day from the next
    border on the level does not rise any more than in the first one, or from then on by a in each: all but the last of
    these days are gone in a step.
    """
    rows, turns, nobody = np.arange(len(level_j)), 2 * own.window_s.shape[1], np.full(len(level_j), -np.inf)
    time_s, came_s, peak_j, marks_j = np.full(len(level_j), now_s), -nobody, nobody, []
    lasts_s = np.where(np.isinf(border_s), 0.0, border_s - now_s)
    for turn in range(4 * turns + 1):
        gain_w = np.where(plugged, own.charging_w[rows, window], 0.0) - own.idle_w
        with np.errstate(divide="ignore", invalid="ignore"):
            there_s = time_s + (own.resume_j - level_j) / gain_w
        came_s = np.where(np.isinf(came_s) & (gain_w > 0) & (there_s <= border_s), there_s, came_s)
        level_j = np.clip(level_j + gain_w * lasts_s, 0.0, own.capacity_j)
        time_s = np.where(np.isinf(border_s), time_s, border_s)
        window, plugged, lasts_s = _turned(own, rows, window, plugged)
        border_s = border_s + lasts_s
        if turn % turns == 0:  # a day after the last mark
            marks_j.append(level_j)
        if turn > turns:  # in the second day
            peak_j = np.maximum(peak_j, level_j)
        if turn == 2 * turns:
            day_j = marks_j[2] - marks_j[1]
            with np.errstate(divide="ignore", invalid="ignore"):
                days = np.maximum(np.ceil((own.resume_j - peak_j) / day_j) - 1, 0.0)
            days = np.where(day_j > SAME * own.capacity_j, days, 0.0)
            level_j, time_s, border_s = level_j + days * day_j, time_s + days * DAY_S, border_s + days * DAY_S
    return came_s
