"""What devices with batteries draw while they take part, and the moment at which one runs out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.radio.transfers import Way
from edgefl.server.participation import Activity, Participation
from edgefl.world.batteries import Batteries
from edgefl.world.world import World

RADIO = {"down": "rx", "up": "tx"}


class BatteryMeter:
    """Tells the batteries of a change at once, so that they know at any time when one will be empty.

    Args:
        env: the clock.
        world: what devices draw.
        batteries: theirs.
    """

    def __init__(self, env: simpy.Environment, world: World, batteries: Batteries) -> None:
        self._env, self._world, self._batteries = env, world, batteries
        self._parts: dict[int, Participation] = {}  # under way
        self._processes: dict[int, simpy.Process] = {}  # theirs
        self._powers_w: dict[int, dict[str, float]] = {}  # of their devices
        self._look_s: dict[int, float] = {}  # when each device is looked at next

    def begin(self, parts: Sequence[Participation], processes: Iterable[simpy.Process]) -> None:
        """Parts begin as these processes."""
        owned = [pair for pair in zip(parts, processes, strict=True) if self._batteries.has_battery[pair[0].device]]
        ids = np.array([part.device for part, _ in owned], dtype=np.int64)
        powers_w = self._world.powers_w(ids)
        self._batteries.begin(ids, powers_w["idle"], self._env.now)
        for row, (part, process) in enumerate(owned):
            device = part.device
            self._parts[device], self._processes[device] = part, process
            self._powers_w[device] = {name: float(values[row]) for name, values in powers_w.items()}
            self._plan(device)

    def capacity_j(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """What the batteries of devices [n] can hold; nan on mains."""
        return self._batteries.capacity_j(ids)

    def on_air(self, device: int, way: Way, air: float) -> None:
        """A device's radio is on for that part of the time, from now on."""
        if device in self._parts:
            self._does(device, RADIO[way], air)

    def on_activity(self, device: int, activity: Activity) -> None:
        """Note that a device begins to compute, or to wait."""
        if device in self._parts:
            self._does(device, activity)

    def end(self, part: Participation) -> None:
        """A part has ended; its device waits for the round's end, if it has not gone."""
        if part.device not in self._parts:
            return
        if part.gone:
            self._batteries.release(np.array([part.device]), self._env.now)
        else:
            self._does(part.device, "idle")
        part.measure_battery(float(self._batteries.levels_j(np.array([part.device]), self._env.now)[0]))

    def close(self, parts: Iterable[Participation]) -> None:
        """The round has ended in which these parts have ended: nobody waits any more."""
        last = [part for part in parts if self._parts.get(part.device) is part]  # who began anew is under way
        self._batteries.release(np.array([part.device for part in last], dtype=np.int64), self._env.now)
        for part in last:
            self._forget(part)

    def leave(self, part: Participation) -> None:
        """Its device has left after its part, and waits no more."""
        if self._parts.get(part.device) is part:
            self._batteries.release(np.array([part.device]), self._env.now)
            self._forget(part)

    def _forget(self, part: Participation) -> None:
        part.stop_waiting(self._batteries.ran_out_s(part.device))
        del self._parts[part.device], self._powers_w[part.device]
        self._processes.pop(part.device, None)

    def _does(self, device: int, activity: str, share: float = 1.0) -> None:
        """A device does something for a share of the time, and waits in between."""
        powers_w = self._powers_w[device]
        power_w = share * powers_w[activity] + (1 - share) * powers_w["idle"]
        if activity == "cpu":
            power_w = self._world.powers_w(np.array([device]), np.array([self._parts[device].cpu_hz]))["cpu"].item()
        self._batteries.draw(np.array([device]), power_w, self._env.now)
        self._plan(device)

    def _plan(self, device: int) -> None:
        """Look at a device when something happens to its battery, if nobody looks before; at once if it has run out."""
        time_s = self._batteries.next_s(device) if self._batteries.usable[device] else self._env.now
        if time_s >= self._look_s.get(device, np.inf):
            return
        self._look_s[device] = time_s
        timeout = self._env.timeout(max(time_s - self._env.now, 0.0))
        assert timeout.callbacks is not None  # noqa: S101 - it has not been processed
        timeout.callbacks.append(lambda _: self._look(device, time_s))

    def _look(self, device: int, planned_s: float) -> None:
        """End the part of a device that has run out."""
        if self._look_s.get(device) != planned_s:
            return
        del self._look_s[device]
        self._batteries.advance(self._env.now, np.array([device]))
        process = self._processes.get(device)
        if process is None or not process.is_alive:
            return
        if self._batteries.usable[device]:
            self._plan(device)
        else:
            del self._processes[device]  # once: what it has sent already may go on without it
            process.interrupt(DEPARTED)
