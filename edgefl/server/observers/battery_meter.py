"""Meters what devices with batteries draw while they take part, and ends a participation when its battery runs out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.core.arrays import Floats, Ids
from edgefl.core.times import call_at
from edgefl.radio.transfers import TransferResult, Way
from edgefl.server.observer import Begun, DeviceColumns, Observer
from edgefl.server.participation import Activity, Meter, Participation
from edgefl.world.batteries import Batteries
from edgefl.world.world import World

RADIO_POWER: dict[Way, Literal["rx", "tx"]] = {"down": "rx", "up": "tx"}


@dataclass(slots=True)
class MeteredParticipation:
    """A participation of a device with a battery, until its round has ended."""

    part: Participation
    process: simpy.Process | None  # None once it has been interrupted
    powers_w: dict[str, float]  # what the device draws, by activity


@dataclass(eq=False)
class BatteryMeter(Observer, Meter):
    """Tells the batteries when a device's power changes, so that they know when each will be empty."""

    env: simpy.Environment
    world: World
    batteries: Batteries

    def __post_init__(self) -> None:
        self._metered: dict[int, MeteredParticipation] = {}  # by device, until its round ends
        self._next_check_s: dict[int, float] = {}  # time of the planned check, by device

    def begins(self, begun: Begun) -> None:
        """Meter participations that begin now, if their devices have batteries."""
        of_device = {}
        for part, process in zip(begun.parts, begun.processes, strict=True):
            if self.batteries.has_battery[part.device]:
                of_device[part.device] = (part, process)
        ids = np.array(list(of_device), dtype=np.int64)
        powers_w = self.world.powers_w(ids)
        for device in of_device.keys() & self._metered.keys():
            # It took part in this round before, and waited no longer than its charge lasted.
            self._metered[device].part.stop_waiting(self.batteries.ran_out_s(device))
        # A device draws its idle power until the radio reports that it is on the air.
        self.batteries.begin(ids, powers_w["idle"], self.env.now)
        for row, (device, (part, process)) in enumerate(of_device.items()):
            device_w = {activity: float(values[row]) for activity, values in powers_w.items()}
            self._metered[device] = MeteredParticipation(part, process, device_w)
            self._plan_check(device)

    def begin_reports(self, ids: Ids, tx_power_w: Floats, air: float) -> None:
        """Let devices [n] with a battery send at power `tx_power_w` [n] for a share `air` of the time from now on."""
        powers_w = self.world.powers_w(ids, tx_power_w=tx_power_w)
        power_w = air * (powers_w["tx"] + powers_w["circuit"]) + (1 - air) * powers_w["idle"]
        owned = self.batteries.has_battery[ids]
        self.batteries.begin(ids[owned], power_w[owned], self.env.now)

    def end_reports(self, parts: Sequence[Participation], began_s: float, report_bits: float) -> Floats:
        """End the sending that `begin_reports` has begun, and record the batteries' levels.

        Args:
            parts: the reports of devices [n].
            began_s: when they began [s].
            report_bits: size of a report that no empty battery has cut short.

        Returns:
            After how long each device's battery has run out [n]; inf if it has not.
        """
        ids = np.array([part.device for part in parts], dtype=np.int64)
        owned = np.flatnonzero(self.batteries.has_battery[ids])
        self.batteries.release(ids[owned], self.env.now)
        until_s = np.array([self.batteries.ran_out_s(device) for device in ids.tolist()])
        sent = np.minimum(until_s - began_s, self.env.now - began_s) / (self.env.now - began_s)
        costs_j = self.world.sending_j(ids, sent * report_bits)
        if costs_j.any():
            self.batteries.spend(ids[owned], costs_j[owned], self.env.now)
        levels_j = self.batteries.levels_j(ids[owned], self.env.now)
        for row, level_j in zip(owned.tolist(), levels_j.tolist(), strict=True):
            parts[row].measure_battery(level_j)
        return until_s - began_s

    def on_air(self, device: int, way: Way, air: float, power_share: float) -> None:
        """Note that a device's radio is on the air for a share `air` of the time, at a share of full power."""
        if device in self._metered:
            self._draw(device, RADIO_POWER[way], air, 1.0 if way == "down" else power_share)

    def on_activity(self, device: int, activity: Activity) -> None:
        """Note that a device begins to set up, to compute or to wait."""
        if device not in self._metered:
            return
        if activity == "setup" and self.world.setup_s[device] == 0:
            self._spend(device, self.world.setup_j[[device]])
        self._draw(device, activity)

    def on_transfer(self, part: Participation, way: Way, transfer: TransferResult) -> None:
        """Take the energy of a transfer's bits out of the battery at its end, when their number is known."""
        if part.device not in self._metered:
            return
        ids = np.array([part.device])
        cost_of_bits = self.world.receiving_j if way == "down" else self.world.sending_j
        costs_j = cost_of_bits(ids, transfer.sent_bits)
        if costs_j[0] > 0:
            self._spend(part.device, costs_j)

    def ends(self, part: Participation) -> None:
        """Let the device wait for the round's end, unless it is gone; note its battery's level."""
        if part.device not in self._metered:
            return
        device = np.array([part.device])
        if part.gone:
            self.batteries.release(device, self.env.now)
        else:
            self._wait_for_round(part)
        part.measure_battery(float(self.batteries.levels_j(device, self.env.now)[0]))

    def _wait_for_round(self, part: Participation) -> None:
        """Let a device wait for the round's end, with its radio awake for a while after its last transfer."""
        asleep_s = part.last_transfer_s + float(self.world.drx_tail_s[part.device])
        if asleep_s <= self.env.now:
            self._draw(part.device, "idle")
            return
        self._draw(part.device, "tail")
        call_at(self.env, asleep_s, partial(self._sleep, part))

    def _sleep(self, part: Participation) -> None:
        if self._is_metered(part):
            self._draw(part.device, "idle")

    def device_columns(self, parts: Sequence[Participation]) -> DeviceColumns:
        """Stop metering participations [n] whose round ends, and return their batteries' levels."""
        # A device that failed and began again in the same round has two of them; only the last one is metered.
        last = [part for part in parts if self._is_metered(part)]
        self.batteries.release(np.array([part.device for part in last], dtype=np.int64), self.env.now)
        for part in last:
            self._forget(part)
        ids = np.array([part.device for part in parts], dtype=np.int64)
        return {
            "battery_j": np.array([part.battery_j for part in parts]),
            "battery_capacity_j": self.batteries.capacity_j(ids),  # nan on mains
        }

    def leave(self, part: Participation) -> None:
        """Note that a device has left after its participation ended and before the round does."""
        if self._is_metered(part):
            self.batteries.release(np.array([part.device]), self.env.now)
            self._forget(part)

    def _is_metered(self, part: Participation) -> bool:
        metered = self._metered.get(part.device)
        return metered is not None and metered.part is part

    def _forget(self, part: Participation) -> None:
        part.stop_waiting(self.batteries.ran_out_s(part.device))
        del self._metered[part.device]

    def _draw(self, device: int, activity: str, share: float = 1.0, power_share: float = 1.0) -> None:
        """Draw a share of the power of an activity for a share of the time, and idle power for the rest."""
        metered = self._metered[device]
        activity_w = metered.powers_w[activity] * power_share
        if activity == "tx":
            activity_w += metered.powers_w["circuit"]
        power_w = share * activity_w + (1 - share) * metered.powers_w["idle"]
        if activity == "cpu":  # DVFS has chosen the clock only now, and it may be below the highest
            clock_hz = np.array([metered.part.cpu_hz])
            power_w = self.world.powers_w(np.array([device]), clock_hz)["cpu"].item()
        self.batteries.draw_one(device, power_w, self.env.now)
        self._plan_check(device)

    def _spend(self, device: int, joules: Floats) -> None:
        """Spend some energy [1] at once; what the device does next at the same time plans the check."""
        self.batteries.spend(np.array([device]), joules, self.env.now)

    def _plan_check(self, device: int) -> None:
        """Plan to check a device when its battery changes next; now if it has run out.

        SimPy cannot cancel an event. So a check that is planned for an earlier time stays: it will find the battery
        usable, and plan the next check.
        """
        time_s = self.env.now
        if self.batteries.usable[device]:
            time_s = self.batteries.next_s(device)
        if time_s >= self._next_check_s.get(device, np.inf):
            return
        self._next_check_s[device] = time_s
        call_at(self.env, time_s, partial(self._check, device, time_s))

    def _check(self, device: int, planned_s: float) -> None:
        if self._next_check_s.get(device) != planned_s:
            return  # another check was planned for an earlier time, and has replaced this one
        del self._next_check_s[device]
        self.batteries.advance(self.env.now, np.array([device]))
        metered = self._metered.get(device)
        if metered is None or metered.process is None or not metered.process.is_alive:
            return
        if self.batteries.usable[device]:
            self._plan_check(device)
        else:
            process = metered.process
            metered.process = None  # never interrupt it again: an update on the backhaul continues without the device
            process.interrupt(DEPARTED)
