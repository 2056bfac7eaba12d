"""Batteries: their levels over time, which devices have run out, and when the next one is charged again."""

import math
from collections.abc import Callable

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.world.battery_parameters import BatteryParameters
from edgefl.world.charging import ROUNDING, ChargerState, charged_s, initial_state, next_phase
from edgefl.world.churn.base import Changes
from edgefl.world.next_events import advance_to

# Levels and times are summed up differently, so at the computed time a level may be just too low. At a time that is
# later by this factor, the battery has certainly been charged.
CERTAINLY_LATER = 1 + 1e-14


class Batteries:
    """The levels of all devices' batteries.

    While a device's power stays the same, its level is a straight line, clipped to [0, capacity]. So advancing costs a
    comparison for each device, and a step for each that runs out, is charged, plugged in or unplugged.
    """

    def __init__(self, parameters: BatteryParameters) -> None:
        count = len(parameters.capacity_j)
        self.has_battery = np.isfinite(parameters.capacity_j)  # [devices]
        self.usable = parameters.start_j > parameters.reserve_j  # [devices] False while the device has run out
        self._parameters = parameters
        self._resting_w = parameters.resting_w  # [devices] drawn while it takes no part
        # Each device's present line: its level when the line began, that time, and its power since then.
        self._level_j = parameters.start_j.copy()
        self._since_s = np.zeros(count)
        self._draw_w = self._resting_w.copy()
        self._participating = np.zeros(count, dtype=np.bool_)
        # Its charger, and the next event of its battery.
        self._window, self._plugged, self._switch_s = initial_state(parameters)
        self._next_s = np.full(count, np.inf)
        self._ran_out_s = np.full(count, np.inf)  # first time since its last participation began; inf: it has not
        # Sums over all lines that have ended, and how much of them `columns` has reported.
        self._charged_j = 0.0
        self._drained_j = 0.0
        self._reported_charged_j = 0.0
        self._reported_drained_j = 0.0
        self._not_reported: list[Changes] = []
        self._listeners: list[Callable[[Changes], None]] = []
        self._plan(np.arange(count))

    def with_charge(self, ids: Ids, time_s: float) -> Ids:
        """Return the devices, of these [n], that have not run out at a time."""
        self.advance(time_s)
        return ids[self.usable[ids]]

    def levels_j(self, ids: Ids, time_s: Floats | float) -> Floats:
        """Return the levels [n] of devices [n] at times between the last `advance` and each one's next event."""
        gained_j = self._net_w(ids) * (time_s - self._since_s[ids])
        return np.clip(self._level_j[ids] + gained_j, 0.0, self._parameters.capacity_j[ids])

    def capacity_j(self, ids: Ids) -> Floats:
        """Return the battery capacities of devices [n]; nan on mains."""
        return np.where(self.has_battery[ids], self._parameters.capacity_j[ids], np.nan)

    def next_s(self, device: int) -> float:
        """Return when the next event of a device's battery happens, if its power stays the same."""
        return float(self._next_s[device])

    def ran_out_s(self, device: int) -> float:
        """Return when a device ran out, during or after its last participation; inf: it has not."""
        return float(self._ran_out_s[device])

    def draw(self, ids: Ids, power_w: Floats | float, time_s: float) -> None:
        """Let devices [n] draw `power_w` besides `base_w` from now on; those that have run out rest instead."""
        self.advance(time_s, ids)  # a device that runs out before that rests
        self._start_lines(ids, time_s)
        drawn_w = self._parameters.base_w[ids] + power_w
        self._draw_w[ids] = np.where(self.usable[ids], drawn_w, self._resting_w[ids])
        self._plan(ids)

    def draw_one(self, device: int, power_w: float, time_s: float) -> None:
        """Do the same as `draw` for one device, in plain numbers: a participant's power changes eight times a round."""
        if self._next_s.item(device) <= time_s or not self.usable.item(device) or not self.has_battery.item(device):
            self.draw(np.array([device]), power_w, time_s)
            return
        parameters = self._parameters
        # See _start_lines and _flows_j.
        offered_w = 0.0
        if self._plugged.item(device):
            offered_w = parameters.charging_w.item(device, self._window.item(device))
        draw_w = self._draw_w.item(device)
        lasted_s = time_s - self._since_s.item(device)
        before_j = self._level_j.item(device)
        level_j = before_j + (offered_w - draw_w) * lasted_s
        level_j = min(max(level_j, 0.0), parameters.capacity_j.item(device))
        gained_j = level_j - before_j
        drawn_j = offered_w * lasted_s - gained_j
        if offered_w > draw_w:
            drawn_j = draw_w * lasted_s
        self._charged_j += gained_j + drawn_j
        if self._participating.item(device):
            drawn_j = parameters.base_w.item(device) * lasted_s
        self._drained_j += drawn_j
        self._level_j[device] = level_j
        self._since_s[device] = time_s
        # See _plan.
        draw_w = parameters.base_w.item(device) + power_w
        self._draw_w[device] = draw_w
        crosses_s = math.inf
        if draw_w > offered_w:
            after_s = (parameters.reserve_j.item(device) - level_j) / (offered_w - draw_w)
            crosses_s = time_s + max(after_s, 0.0)
        switch_s = self._switch_s.item(device)
        if switch_s < math.inf and switch_s <= crosses_s <= switch_s * (1 + ROUNDING):
            crosses_s = max(math.nextafter(switch_s, 0.0), time_s)
        self._next_s[device] = min(switch_s, crosses_s)

    def spend(self, ids: Ids, joules: Floats, time_s: float) -> None:
        """Let devices [n] spend energy [n] at once; a battery that has no more than that runs out empty."""
        self.advance(time_s, ids)
        self._start_lines(ids, time_s)
        self._level_j[ids] = np.maximum(self._level_j[ids] - joules, 0.0)
        empty = ids[self.usable[ids] & (self._level_j[ids] <= self._parameters.reserve_j[ids])]
        self._run_out_or_return(empty, np.full(len(empty), time_s))
        self._plan(ids)

    def begin(self, ids: Ids, power_w: Floats, time_s: float) -> None:
        """Let devices [n] begin to take part, and draw `power_w` besides `base_w`."""
        self.draw(ids, power_w, time_s)
        self._ran_out_s[ids] = np.inf
        self._participating[ids] = self.usable[ids]

    def release(self, ids: Ids, time_s: float) -> None:
        """Let devices [n] stop taking part."""
        self.draw(ids, self._parameters.idle_w[ids], time_s)
        self._participating[ids] = False

    def advance(self, time_s: float, ids: Ids | None = None) -> None:
        """Handle all events of batteries up to a time, of some devices or of all."""
        advance_to(time_s, self._next_s, self._handle_next_events, ids)

    def changes(self) -> Changes:
        """Return the devices that were charged (came) or ran out since the last call."""
        found = Changes.concatenate(self._not_reported)
        self._not_reported = []
        return found

    def listen(self, listener: Callable[[Changes], None]) -> None:
        """Call a function with all changes from now on, as they are found: in order of time for each device only."""
        self._listeners.append(listener)

    def columns(self, time_s: float) -> dict[str, float]:
        """Return the columns of rounds.csv at a time.

        Energies count from the last call: charged into batteries, and drained by `base_w` of all devices and by
        `idle_w` of those that took no part.
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
        """Return when the first of devices [n] that have run out is charged again; inf: never."""
        self.advance(time_s)
        empty = ids[~self.usable[ids]]
        if not empty.size:
            return np.inf
        self._start_lines(empty, time_s)  # brings the stored levels up to date
        charger = ChargerState(self._window[empty], self._plugged[empty], self._switch_s[empty])
        parameters = self._parameters.of_devices(empty)
        return float(charged_s(parameters, self._level_j[empty], charger, time_s).min()) * CERTAINLY_LATER

    def _net_w(self, ids: Ids) -> Floats:
        """Return the powers [n] that charge batteries; negative if they are drained."""
        return self._offered_w(ids) - self._draw_w[ids]

    def _offered_w(self, ids: Ids) -> Floats:
        """Return the powers [n] of the chargers; 0 if unplugged."""
        return np.where(self._plugged[ids], self._parameters.charging_w[ids, self._window[ids]], 0.0)

    def _flows_j(self, ids: Ids, time_s: Floats | float, level_j: Floats) -> tuple[float, float]:
        """Return the energies charged and drained, except by taking part, since the present lines of devices [n] began.

        A full battery takes up no more than is drawn, and an empty one gives no more than it takes up.
        """
        owned = self.has_battery[ids]
        lasted_s = (time_s - self._since_s[ids])[owned]
        ids = ids[owned]
        level_j = level_j[owned]
        gained_j = level_j - self._level_j[ids]
        offered_j = self._offered_w(ids) * lasted_s
        # While the level falls, the device draws what the charger offers and what the battery loses.
        drawn_j = np.where(self._net_w(ids) > 0, self._draw_w[ids] * lasted_s, offered_j - gained_j)
        charged_j = (gained_j + drawn_j).sum()
        participates = self._participating[ids]
        drained_j = drawn_j[~participates].sum()
        # A participant's battery is above its reserve, and so gives all that the device draws.
        drained_j += (self._parameters.base_w[ids] * lasted_s)[participates].sum()
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
        """Find the next event of each of devices [n]: it runs out, is charged, is plugged in or unplugged."""
        net_w = self._net_w(ids)
        usable = self.usable[ids]
        threshold_j = np.where(usable, self._parameters.reserve_j[ids], self._parameters.resume_j[ids])
        approaches = np.where(usable, net_w < 0, net_w > 0)
        never_s = np.full(len(ids), np.inf)
        after_s = np.divide(threshold_j - self._level_j[ids], net_w, out=never_s, where=approaches)
        since_s = self._since_s[ids]
        crosses_s = since_s + np.maximum(after_s, 0.0)  # rounding may have put the level past it
        # If the level reaches its threshold just when the charger switches, the threshold comes first: a battery that
        # is full when its window closes is charged. Rounding must not decide that.
        switch_s = self._switch_s[ids]
        together = np.isfinite(switch_s) & (crosses_s >= switch_s) & (crosses_s <= switch_s * (1 + ROUNDING))
        before_s = np.maximum(np.nextafter(switch_s, 0.0), since_s)
        crosses_s = np.where(together, before_s, crosses_s)
        self._next_s[ids] = np.minimum(switch_s, crosses_s)

    def _handle_next_events(self, ids: Ids) -> None:
        at_s = self._next_s[ids].copy()
        self._start_lines(ids, at_s)
        crosses = at_s < self._switch_s[ids]
        self._cross_threshold(ids[crosses], at_s[crosses])
        self._switch_charger(ids[~crosses])
        self._plan(ids)

    def _cross_threshold(self, ids: Ids, at_s: Floats) -> None:
        """Let devices [n] run out, which ends their participation, or be charged again, at times [n]."""
        parameters = self._parameters
        # Set the level to exactly the threshold, which the line reaches only up to rounding.
        self._level_j[ids] = np.where(self.usable[ids], parameters.reserve_j[ids], parameters.resume_j[ids])
        self._run_out_or_return(ids, at_s)

    def _run_out_or_return(self, ids: Ids, at_s: Floats) -> None:
        """Let usable ones of devices [n] run out, and the others return, at times [n]."""
        runs_out = self.usable[ids]
        self.usable[ids] = ~runs_out
        self._draw_w[ids] = self._resting_w[ids]
        self._participating[ids] = False
        first_s = np.minimum(self._ran_out_s[ids], at_s)
        self._ran_out_s[ids] = np.where(runs_out, first_s, self._ran_out_s[ids])
        changes = Changes(at_s, ids, ~runs_out)
        self._not_reported.append(changes)
        for listener in self._listeners:
            listener(changes)

    def _switch_charger(self, ids: Ids) -> None:
        phase = next_phase(self._parameters, ids, self._window[ids], self._plugged[ids])
        self._window[ids], self._plugged[ids], lasts_s = phase
        self._switch_s[ids] += lasts_s
