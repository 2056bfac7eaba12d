"""Which devices are present, and how long to wait for one."""

from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.core.arrays import Ids
from edgefl.core.errors import RunError
from edgefl.server.round_counter import RoundCounter
from edgefl.server.service import Service
from edgefl.server.session_groups import SessionGroups
from edgefl.world.batteries import Batteries
from edgefl.world.world import World

CHECK_S = 1.0  # between two looks while no device is served
LONGEST_OUTAGE_S = 86_400.0  # the longest that a run waits for a served device


@dataclass(eq=False)
class Attendance:
    """Returns the devices of the session's group that are present, and when the next one comes."""

    env: simpy.Environment
    world: World
    groups: SessionGroups  # the groups of devices; one is present in each session
    rounds: RoundCounter  # the round under way, and its session
    service: Service | None = None  # which devices are served; None: all

    def __post_init__(self) -> None:
        self._since_s = np.inf  # when the wait for a served device began; inf: it has not

    def present(self, index: int) -> Ids:
        """Return the ids of the devices that are present, and served, for selection `index`, ascending."""
        present = self._present(index)
        if self.service is None:
            return present
        return present[self.service.serves(present, index)]

    def _present(self, index: int) -> Ids:
        present = self.world.present(self.env.now, index)
        return present[self.groups.members(self.rounds.key.session)[present]]

    def wait_s(self, index: int, *, any_present: bool) -> float:
        """Return the seconds until a device arrives, or is charged, that could take part in the next round.

        Args:
            index: index of the next selection, from 0.
            any_present: whether any device is present; then rounds continue even if no other ever arrives.

        Raises:
            RunError: no device is present, and none will ever come.
        """
        now_s = self.env.now
        next_s = self.world.presence.next_arrival_s(now_s)
        if self.service is not None and not any_present and self._present(index).size:
            return min(next_s - now_s, self._wait_for_service_s(self.service))
        self._since_s = np.inf
        without_charge = False
        batteries = self.world.batteries
        if batteries is not None:
            ids = np.flatnonzero(self.groups.members(self.rounds.key.session))
            without_charge = not batteries.with_charge(ids, now_s).size
            next_s = self._usable_s(batteries, ids, index, next_s, wait=without_charge or any_present)
        if next_s < float("inf"):
            return next_s - now_s
        if any_present:
            return 0.0
        if without_charge:
            raise RunError(
                f"devices.battery: no device has charge at {now_s:g} s, and none will be charged: "
                "add charging, or set a larger capacity_j"
            )
        raise RunError(
            f"churn: no device is present at {now_s:g} s, and none will arrive: "
            "set stop.time_s to an earlier time, or let devices come back, by another churn or at_end: loop of a trace"
        )

    def _wait_for_service_s(self, service: Service) -> float:
        """Return the seconds until the devices that are present, and not served, are looked at again."""
        self._since_s = min(self._since_s, self.env.now)
        if service.moves and self.env.now - self._since_s < LONGEST_OUTAGE_S:
            return CHECK_S
        raise RunError(
            f"radio.least_rsrp_dbm: {service.least_dbm:g}: no device is served at {self.env.now:g} s: "
            "add base stations (cells.sites), or set a smaller cells.radius_m"
        )

    def _usable_s(self, batteries: Batteries, ids: Ids, index: int, next_s: float, *, wait: bool) -> float:
        """Return when the next of devices [n] can take part: one arrives at `next_s`, or one is charged; inf: never."""
        now_s = self.env.now
        charged_s = batteries.next_charged_s(ids, now_s)
        if not batteries.with_charge(ids, now_s).size and charged_s == float("inf"):
            return charged_s
        if next_s <= now_s:
            # Presence is drawn for each round and not for each time: another round may find other devices right now.
            if wait:
                return charged_s
            return now_s
        # A device without charge that is present may be charged before the next one arrives.
        present = np.intersect1d(ids, self.world.presence.present(now_s, index))
        return min(next_s, batteries.next_charged_s(present, now_s))
