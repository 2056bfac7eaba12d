"""Batteries: what is in them at a time, which devices have run out, and when the next one is charged again."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.world.battery_parameters import BatteryParameters
from edgefl.world.charging import ChargerState, charged_s, initial_state, next_phase
from edgefl.world.churn.base import Changes
from edgefl.world.next_events import advance_to

# The level that a battery has at a time is summed up in another way than that time itself, so the two differ by their
# last digits. At a time that is later by this factor, a battery has certainly been charged.
CERTAINLY_LATER = 1 + 1e-14


class Batteries:
    """The levels of all devices' batteries.

    Between changes of what a device draws its level is a straight line, clipped to [0, capacity]. So going on costs a
    comparison for each device, and a step for each that runs out, is charged, plugged in or unplugged.

    Args:
        parameters: what the batteries are like.
    """

    def __init__(self, parameters: BatteryParameters) -> None:
        count = len(parameters.capacity_j)
        self.has_battery = np.isfinite(parameters.capacity_j)  # [devices]
        self.usable = parameters.start_j > parameters.reserve_j  # [devices] not run out, or charged again since
        self._parameters = parameters
        # Each device's present line: its level at a time, and what it draws from then on.
        self._level_j = parameters.start_j.copy()
        self._since_s = np.zeros(count)
        self._draw_w = parameters.idle_w.copy()
        self._participating = np.zeros(count, dtype=np.bool_)
        # Its charger, and the next event of its battery.
        self._window, self._plugged, self._switch_s = initial_state(parameters)
        self._next_s = np.full(count, np.inf)
        self._ran_out_s = np.full(count, np.inf)  # since it last began to take part
        # Sums over all lines that have ended, and what of them has been reported.
        self._charged_j = 0.0
        self._drained_j = 0.0
        self._reported_charged_j = 0.0
        self._reported_drained_j = 0.0
        self._not_reported: list[Changes] = []
        self._plan(np.arange(count))

    def with_charge(self, ids: Ids, time_s: float) -> Ids:
        """Return those of devices [n] that have not run out at a time."""
        self.advance(time_s)
        return ids[self.usable[ids]]

    def levels_j(self, ids: Ids, time_s: Floats | float) -> Floats:
        """Return the levels [n] of devices at times between the last `advance` and each one's next event."""
        gained_j = self._net_w(ids) * (time_s - self._since_s[ids])
        return np.clip(self._level_j[ids] + gained_j, 0.0, self._parameters.capacity_j[ids])

    def capacity_j(self, ids: Ids) -> Floats:
        """Return what the batteries of devices [n] can hold; nan on mains."""
        return np.where(self.has_battery[ids], self._parameters.capacity_j[ids], np.nan)

    def next_s(self, device: int) -> float:
        """Return when something happens to a device's battery, if the device goes on as it does."""
        return float(self._next_s[device])

    def ran_out_s(self, device: int) -> float:
        """Return when a device ran out, in or after the participation that it began last; inf: it has not."""
        return float(self._ran_out_s[device])

    def draw(self, ids: Ids, power_w: Floats | float, time_s: float) -> None:
        """Let devices [n] draw `power_w` from now on; those that have run out draw their idle power instead."""
        self.advance(time_s, ids)  # a device that runs out before that draws its idle power
        self._start_lines(ids, time_s)
        self._draw_w[ids] = np.where(self.usable[ids], power_w, self._parameters.idle_w[ids])
        self._plan(ids)

    def begin(self, ids: Ids, power_w: Floats, time_s: float) -> None:
        """Let devices [n] begin to take part, and draw `power_w`."""
        self.draw(ids, power_w, time_s)
        self._ran_out_s[ids] = np.inf
        self._participating[ids] = self.usable[ids]

    def release(self, ids: Ids, time_s: float) -> None:
        """Let devices [n] take no part any more."""
        self.draw(ids, self._parameters.idle_w[ids], time_s)
        self._participating[ids] = False

    def advance(self, time_s: float, ids: Ids | None = None) -> None:
        """Handle all events of batteries up to a time, those of some devices or of all."""
        advance_to(time_s, self._next_s, self._handle_next_events, ids)

    def changes(self) -> Changes:
        """Return the devices that were charged (came) or have run out since this was asked last."""
        found = Changes.concatenate(self._not_reported)
        self._not_reported = []
        return found

    def columns(self, time_s: float) -> dict[str, float]:
        """Return the columns of rounds.csv at a time.

        They are the number of devices without charge, the mean level of all batteries and what all of them hold;
        and, since this was asked last, what all batteries were charged with, and what they lost to devices that took
        no part.
        """
        self.advance(time_s)
        ids = np.flatnonzero(self.has_battery)
        level_j = self.levels_j(ids, time_s)
        charged_j, drained_j = self._flows_j(ids, time_s, level_j)
        charged_j += self._charged_j
        drained_j += self._drained_j
        found = {
            "depleted": int((~self.usable).sum()),
            "battery": float((level_j / self._parameters.capacity_j[ids]).mean()),
            "stored_j": float(level_j.sum()),
            "charged_j": charged_j - self._reported_charged_j,
            "drained_j": drained_j - self._reported_drained_j,
        }
        self._reported_charged_j = charged_j
        self._reported_drained_j = drained_j
        return found

    def next_charged_s(self, ids: Ids, time_s: float) -> float:
        """Return when the first of devices [n] that have run out is charged; inf: none of them ever is."""
        self.advance(time_s)
        empty = ids[~self.usable[ids]]
        if not empty.size:
            return np.inf
        self._start_lines(empty, time_s)  # so that levels are those of now
        charger = ChargerState(self._window[empty], self._plugged[empty], self._switch_s[empty])
        own = self._parameters.of_devices(empty)
        return float(charged_s(own, self._level_j[empty], charger, time_s).min()) * CERTAINLY_LATER

    def _net_w(self, ids: Ids) -> Floats:
        """Return the powers [n] that go into batteries, less what is drawn."""
        return self._offered_w(ids) - self._draw_w[ids]

    def _offered_w(self, ids: Ids) -> Floats:
        """Return the powers [n] that chargers give."""
        return np.where(self._plugged[ids], self._parameters.charging_w[ids, self._window[ids]], 0.0)

    def _flows_j(self, ids: Ids, time_s: Floats | float, level_j: Floats) -> tuple[float, float]:
        """Return what has gone into batteries, and out of those that take no part, since their lines began; sums.

        Into a full battery goes no more than is drawn; out of an empty one comes no more than goes in.

        Args:
            ids: the devices [n].
            time_s: the time, of each or of all.
            level_j: [n] their levels then.
        """
        owned = self.has_battery[ids]
        lasted_s = (time_s - self._since_s[ids])[owned]
        ids = ids[owned]
        level_j = level_j[owned]
        gained_j = level_j - self._level_j[ids]
        offered_j = self._offered_w(ids) * lasted_s
        # If the charger gives less than is asked for, the device gets that and what the battery loses.
        drawn_j = np.where(self._net_w(ids) > 0, self._draw_w[ids] * lasted_s, offered_j - gained_j)
        charged_j = (gained_j + drawn_j).sum()
        drained_j = drawn_j[~self._participating[ids]].sum()
        return float(charged_j), float(drained_j)

    def _start_lines(self, ids: Ids, time_s: Floats | float) -> None:
        """End the lines of devices [n], and start new ones, at a time [n]."""
        level_j = self.levels_j(ids, time_s)
        charged_j, drained_j = self._flows_j(ids, time_s, level_j)
        self._charged_j += charged_j
        self._drained_j += drained_j
        self._level_j[ids] = level_j
        self._since_s[ids] = time_s

    def _plan(self, ids: Ids) -> None:
        """Work out the next event of each of devices [n]: it runs out, is charged, is plugged in or unplugged."""
        net_w = self._net_w(ids)
        usable = self.usable[ids]
        threshold_j = np.where(usable, self._parameters.reserve_j[ids], self._parameters.resume_j[ids])
        approaches = np.where(usable, net_w < 0, net_w > 0)
        never_s = np.full(len(ids), np.inf)
        after_s = np.divide(threshold_j - self._level_j[ids], net_w, out=never_s, where=approaches)
        crosses_s = self._since_s[ids] + np.maximum(after_s, 0.0)  # rounding may have put the level beyond
        self._next_s[ids] = np.minimum(self._switch_s[ids], crosses_s)

    def _handle_next_events(self, ids: Ids) -> None:
        """Let the next event of each of devices [n] happen, at its time."""
        at_s = self._next_s[ids].copy()
        self._start_lines(ids, at_s)
        crosses = at_s < self._switch_s[ids]  # else its charger switches; a crossing at that moment comes next
        self._cross_threshold(ids[crosses], at_s[crosses])
        self._switch_charger(ids[~crosses])
        self._plan(ids)

    def _cross_threshold(self, ids: Ids, at_s: Floats) -> None:
        """Let devices [n] run out, after which they take no part, or be charged, at times [n]."""
        parameters = self._parameters
        runs_out = self.usable[ids]
        # Exactly the threshold, which the line reaches only up to rounding.
        self._level_j[ids] = np.where(runs_out, parameters.reserve_j[ids], parameters.resume_j[ids])
        self.usable[ids] = ~runs_out
        self._draw_w[ids] = parameters.idle_w[ids]
        self._participating[ids] = False
        first_s = np.minimum(self._ran_out_s[ids], at_s)
        self._ran_out_s[ids] = np.where(runs_out, first_s, self._ran_out_s[ids])
        self._not_reported.append(Changes(at_s, ids, ~runs_out))

    def _switch_charger(self, ids: Ids) -> None:
        """Plug devices [n] in, or unplug them."""
        phase = next_phase(self._parameters, ids, self._window[ids], self._plugged[ids])
        self._window[ids], self._plugged[ids], lasts_s = phase
        self._switch_s[ids] += lasts_s
