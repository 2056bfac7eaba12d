"""Meters what devices with batteries draw while they take part, and notices the moment at which one runs out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.core.arrays import Floats, Ids
from edgefl.core.times import call_at
from edgefl.radio.transfers import Way
from edgefl.server.participation import Activity, Participation
from edgefl.world.batteries import Batteries
from edgefl.world.world import World

RADIO_POWER: dict[Way, Literal["rx", "tx"]] = {"down": "rx", "up": "tx"}


@dataclass(slots=True)
class MeteredParticipation:
    """A participation whose device runs on a battery, until its round has ended."""

    part: Participation
    process: simpy.Process | None  # None once it was interrupted
    powers_w: dict[str, float]  # what the device draws, by activity


class BatteryMeter:
    """Tells the batteries at once when a device draws something else, so that they know when each will be empty.

    Args:
        env: the clock.
        world: what devices draw.
        batteries: their levels.
    """

    def __init__(self, env: simpy.Environment, world: World, batteries: Batteries) -> None:
        self._env = env
        self._world = world
        self._batteries = batteries
        self._metered: dict[int, MeteredParticipation] = {}  # by device: under way, or waiting for the round's end
        self._next_check_s: dict[int, float] = {}  # by device

    def begin(self, parts: Sequence[Participation], processes: Iterable[simpy.Process]) -> None:
        """Meter participations that begin now as these processes, as far as their devices have batteries."""
        of_device = {}
        for part, process in zip(parts, processes, strict=True):
            if self._batteries.has_battery[part.device]:
                of_device[part.device] = (part, process)
        ids = np.array(list(of_device), dtype=np.int64)
        powers_w = self._world.powers_w(ids)
        self._batteries.begin(ids, powers_w["idle"], self._env.now)  # until the radio says that it is on the air
        for row, (device, (part, process)) in enumerate(of_device.items()):
            own_w = {activity: float(values[row]) for activity, values in powers_w.items()}
            self._metered[device] = MeteredParticipation(part, process, own_w)
            self._plan_check(device)

    def capacity_j(self, ids: Ids) -> Floats:
        """Return what the batteries of devices [n] can hold [J]; nan on mains."""
        return self._batteries.capacity_j(ids)

    def on_air(self, device: int, way: Way, air: float) -> None:
        """Note that a device's radio is on for a share `air` of the time, from now on."""
        if device in self._metered:
            self._draw(device, RADIO_POWER[way], air)

    def on_activity(self, device: int, activity: Activity) -> None:
        """Note that a device begins to compute, or to wait."""
        if device in self._metered:
            self._draw(device, activity)

    def end(self, part: Participation) -> None:
        """Note that a participation has ended; its device waits for the round's end, unless it is gone."""
        if part.device not in self._metered:
            return
        device = np.array([part.device])
        if part.gone:
            self._batteries.release(device, self._env.now)
        else:
            self._draw(part.device, "idle")
        part.measure_battery(float(self._batteries.levels_j(device, self._env.now)[0]))

    def close(self, parts: Iterable[Participation]) -> None:
        """Note that the round has ended in which these participations have ended: their devices wait no more."""
        # A device that failed and began anew in the same round has two of them; only the last one is metered.
        last = [part for part in parts if self._is_metered(part)]
        self._batteries.release(np.array([part.device for part in last], dtype=np.int64), self._env.now)
        for part in last:
            self._forget(part)

    def leave(self, part: Participation) -> None:
        """Note that a device has left that had only waited for the round's end."""
        if self._is_metered(part):
            self._batteries.release(np.array([part.device]), self._env.now)
            self._forget(part)

    def _is_metered(self, part: Participation) -> bool:
        metered = self._metered.get(part.device)
        return metered is not None and metered.part is part

    def _forget(self, part: Participation) -> None:
        part.stop_waiting(self._batteries.ran_out_s(part.device))
        del self._metered[part.device]

    def _draw(self, device: int, activity: str, share: float = 1.0) -> None:
        """Draw the power of an activity for a share of the time, and that of waiting for the rest."""
        metered = self._metered[device]
        power_w = share * metered.powers_w[activity] + (1 - share) * metered.powers_w["idle"]
        if activity == "cpu":  # its clock may be slower than the fastest one (DVFS), and was chosen only now
            clock_hz = np.array([metered.part.cpu_hz])
            power_w = self._world.powers_w(np.array([device]), clock_hz)["cpu"].item()
        self._batteries.draw(np.array([device]), power_w, self._env.now)
        self._plan_check(device)

    def _plan_check(self, device: int) -> None:
        """Check a device when its battery changes next, unless a check comes before; at once if it has run out.

        A check that comes too early costs little, as it plans the next one; an event cannot be taken back.
        """
        time_s = self._env.now
        if self._batteries.usable[device]:
            time_s = self._batteries.next_s(device)
        if time_s >= self._next_check_s.get(device, np.inf):
            return
        self._next_check_s[device] = time_s
        call_at(self._env, time_s, partial(self._check, device, time_s))

    def _check(self, device: int, planned_s: float) -> None:
        """Interrupt the participation of a device if its battery has run out."""
        if self._next_check_s.get(device) != planned_s:
            return  # another check was planned for an earlier time, and has replaced this one
        del self._next_check_s[device]
        self._batteries.advance(self._env.now, np.array([device]))
        metered = self._metered.get(device)
        if metered is None or metered.process is None or not metered.process.is_alive:
            return
        if self._batteries.usable[device]:
            self._plan_check(device)
        else:
            process = metered.process
            metered.process = None  # interrupt it once: what it has sent already may go on without it
            process.interrupt(DEPARTED)
