"""Batteries: how much is in them at a time, who has run out, and when the next is charged again."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.churn.base import NO_CHANGES, Changes
from edgefl.distributions import HOUR, NON_NEGATIVE, POSITIVE, SHARE, PerDevice
from edgefl.scenario import Devices
from edgefl.streams import Streams

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

HOUR_S = 3_600.0
DAY_S = 24 * HOUR_S
AFTER = 1 + 1e-14  # one moment's times, each computed in its own way, may differ by so much


class Supply(NamedTuple):
    """What the batteries [devices] are like; a device without one has an infinite capacity."""

    capacity_j: Floats
    start_j: Floats
    idle_w: Floats  # while they take no part
    reserve_j: Floats  # down there a device leaves ...
    resume_j: Floats  # ... and up there it comes back
    charging_w: Floats
    from_s: Floats  # of a day: when charging begins
    window_s: Floats  # how long it goes on; a whole day is for ever

    @classmethod
    def drawn(cls, devices: Devices, streams: Streams) -> Supply:
        """Those of a scenario.

        Raises:
            InputError: a device draws what cannot be.
        """

        def draw(name: str, bound: PerDevice, path: str, without: float) -> Floats:
            return devices.draw(name, bound, streams, _at(f"battery.{path}", without))

        capacity = draw("capacity_j", POSITIVE, "capacity_j", np.inf)
        shares = [draw(key, SHARE, key, 0.0) for key in ("start", "reserve", "resume")]
        levels = [np.multiply(share, capacity, out=np.zeros(devices.count), where=share > 0) for share in shares]
        start, reserve, resume = np.where(np.isinf(capacity), [[np.inf], [0.0], [0.0]], levels)
        begin, end = (draw(key, HOUR, f"charging.{key}", 0.0) for key in ("from_h", "to_h"))
        window = (end - begin) % 24
        return cls(
            capacity_j=capacity,
            start_j=start,
            idle_w=draw("idle_w", NON_NEGATIVE, "idle_w", 0.0),
            reserve_j=reserve,
            resume_j=resume,
            charging_w=draw("charging_w", POSITIVE, "charging.power_w", 0.0),
            from_s=begin % 24 * HOUR_S,
            window_s=np.where(window == 0, 24, window) * HOUR_S,
        )


def _at(path: str, without: float) -> Callable[[Any], Any]:
    """What stands there below a section; `without` where a section on the way is left out."""

    def find(section: Any) -> Any:
        found = reduce(lambda node, key: None if node is None else getattr(node, key), path.split("."), section)
        return without if found is None else found

    return find


class Batteries:
    """The levels of all devices. Between changes of what a device draws they are straight lines, clipped.

    Going on costs a comparison a device, and a step for each that runs out, is charged, plugged in or unplugged.
    """

    def __init__(self, supply: Supply) -> None:
        self._supply = supply
        self._level_j, self._draw_w = supply.start_j.copy(), supply.idle_w.copy()
        self._since_s = np.zeros(len(self._level_j))  # the time of that level
        self.owned = np.isfinite(supply.capacity_j)  # [devices] who has a battery
        self.usable = supply.start_j > supply.reserve_j  # [devices] who has not run out, or has been charged since
        self._plugged, self._border_s = _begin(supply)  # until when they are, or are not
        self._next_s = np.full(len(self._level_j), np.inf)  # when something happens to each
        self._ran_out_s = np.full(len(self._level_j), np.inf)  # since it last began a part
        self._busy = np.zeros(len(self._level_j), dtype=np.bool_)  # [devices] who takes part
        self._moved_j = np.zeros(
            2
        )  # into all batteries and, by those who took no part, out of them: in lines that ended
        self._told_j = np.zeros(2)  # of it, in rounds that ended
        self._log: list[Changes] = []
        self._plan(np.arange(len(self._level_j)))

    def present(self, ids: Ids, time_s: float) -> Ids:
        """Those of devices [n] that have enough."""
        self.go_on(time_s)
        return ids[self.usable[ids]]

    def levels_j(self, ids: Ids, time_s: Floats | float) -> Floats:
        """What devices [n] have at a time, not before the one gone on to and not after their next change."""
        gained = self._net_w(ids) * (time_s - self._since_s[ids])
        return np.clip(self._level_j[ids] + gained, 0.0, self._supply.capacity_j[ids])

    def draw(self, ids: Ids, power_w: Floats | float, time_s: float) -> None:
        """From now on devices [n] draw so much; those that have run out draw what they draw alone."""
        self.go_on(time_s, ids)
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
        return np.where(self.owned[ids], self._supply.capacity_j[ids], np.nan)

    def next_s(self, device: int) -> float:
        """When something happens to a device, if it goes on as it does."""
        return float(self._next_s[device])

    def ran_out_s(self, device: int) -> float:
        """When a device ran out in or after the part that it began last; inf: it has not."""
        return float(self._ran_out_s[device])

    def go_on(self, time_s: float, ids: Ids | None = None) -> None:
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
        self.go_on(time_s)
        ids = np.flatnonzero(self.owned)
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

    def charged_s(self, ids: Ids, time_s: float) -> float:
        """When the first of those of devices [n] that have run out is charged; inf: none of them, ever."""
        self.go_on(time_s)
        low = ids[~self.usable[ids]]
        if not low.size:
            return np.inf
        self._settle(low, time_s)
        state = self._level_j[low], self._plugged[low], self._border_s[low]
        return float(_charged_s(Supply(*(column[low] for column in self._supply)), *state, time_s).min()) * AFTER

    def _net_w(self, ids: Ids) -> Floats:
        """What goes into batteries [n]."""
        return np.where(self._plugged[ids], self._supply.charging_w[ids], 0.0) - self._draw_w[ids]

    def _flows_j(self, ids: Ids, time_s: Floats | float, level_j: Floats) -> Floats:
        """What has gone into batteries [n], and out of those that take no part, since their lines began; sums [2].

        Into a full one goes no more than is drawn, out of an empty one comes no more than goes in.

        Args:
            ids: the devices.
            time_s: now, of each or of all.
            level_j: [n] what they have now.
        """
        owned = self.owned[ids]
        lasted_s = (time_s - self._since_s[ids])[owned]
        ids, level_j = ids[owned], level_j[owned]
        gained_j = level_j - self._level_j[ids]
        offered_j = np.where(self._plugged[ids], self._supply.charging_w[ids], 0.0) * lasted_s
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
        self._plugged[ids] = ~self._plugged[ids]
        window_s = self._supply.window_s[ids]
        self._border_s[ids] += np.where(self._plugged[ids], window_s, DAY_S - window_s)


def _begin(supply: Supply) -> tuple[Bools, Floats]:
    """Who [devices] is plugged in at time 0, and until when that remains so."""
    since_s = -supply.from_s % DAY_S
    plugged = (since_s < supply.window_s) & (supply.charging_w > 0)
    border_s = np.where(plugged, supply.window_s, DAY_S) - since_s
    return plugged, np.where((supply.charging_w > 0) & (supply.window_s < DAY_S), border_s, np.inf)


def _charged_s(own: Supply, level_j: Floats, plugged: Bools, border_s: Floats, now_s: float) -> Floats:
    """When devices [n] that have run out and take no part come back; inf: never.

    A level rises within windows alone, from window to window by the same amount: it does so in the one that is open,
    in the next one, in a later one, or never.
    """
    gain_w, rest_s = own.charging_w - own.idle_w, DAY_S - own.window_s
    gone_s = np.where(np.isinf(border_s), 0.0, border_s - now_s)
    end_j = np.clip(level_j + np.where(plugged, gain_w, -own.idle_w) * gone_s, 0.0, own.capacity_j)
    first_j = np.where(plugged, np.maximum(end_j - own.idle_w * rest_s, 0.0), end_j)  # when the next window opens
    first_s = border_s + np.where(plugged, rest_s, 0.0)
    window_j, day_j = gain_w * own.window_s, gain_w * own.window_s - own.idle_w * rest_s
    short_j = np.maximum(own.resume_j - window_j - first_j, 0.0)  # by how much that window is too short
    with np.errstate(divide="ignore", invalid="ignore"):
        open_s = now_s + (own.resume_j - level_j) / gain_w
        days = np.where(short_j > 0, np.ceil(short_j / day_j), 0.0)
        later_s = first_s + days * DAY_S + (own.resume_j - first_j - days * day_j) / gain_w
    now_open, later = plugged & (open_s <= border_s), np.isfinite(border_s) & ((short_j == 0) | (day_j > 0))
    return np.where(gain_w > 0, np.where(now_open, open_s, np.where(later, later_s, np.inf)), np.inf)
