"""Groups that move together."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat

from edgefl.core.arrays import Floats, Ids
from edgefl.core.section import Count
from edgefl.core.streams import Streams
from edgefl.world.mobility.base import Area, Track, WithSpeed
from edgefl.world.mobility.random_waypoint import Waypoints


class GroupMobility(WithSpeed):
    """Reference-point group mobility (Hong et al., MSWiM 1999): members stroll around a centre, which moves at random.

    Devices i with the same i // size are a group. Its centre is a random waypoint at the speed of the group's first
    device; each member is another random waypoint in the disc around it. Both start in their stationary laws.
    """

    size: Count = 10
    spread_m: PositiveFloat = 20.0  # no member is farther from the centre
    member_speed_mps: Annotated[float, Field(ge=0, le=1e4)] = 1.0  # relative to the centre

    def check(self, area: Area) -> str | None:
        """Centres need room between hole and edge."""
        most = (area.radius_m - area.min_distance_m) / 4
        if self.spread_m <= most:
            return None
        return (
            f"spread_m must be <= {most:g}, a quarter of the way from hole to edge of the cell, got {self.spread_m:g}"
        )

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Centres keep `spread_m` away from hole and edge."""
        inner = Area(area.min_distance_m + self.spread_m, area.radius_m - self.spread_m)
        speeds = self.speeds(count, streams)
        centres = Waypoints(inner, speeds[:: self.size], streams)
        members = Waypoints(Area(0.0, self.spread_m), np.full(count, self.member_speed_mps), streams, "member")
        return _Groups(speeds, self.size, centres, members)


class _Groups(Track):
    def __init__(self, speeds_mps: Floats, size: int, centres: Waypoints, members: Waypoints) -> None:
        super().__init__(speeds_mps)
        self.size, self.centres, self.members = size, centres, members

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        return self.centres.positions_m(ids // self.size, time_s) + self.members.positions_m(ids, time_s)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Speeds [n] of both movements together."""
        centre = self.centres.velocities_mps(ids // self.size, time_s)
        return np.asarray(np.hypot(*(centre + self.members.velocities_mps(ids, time_s)).T))

    def stays_within_until_s(self, ids: Ids, time_s: float, slack_m: Floats) -> Floats:
        """Both movements in one direction."""
        fastest = self.centres.speeds_mps(ids // self.size, time_s) + self.members.speeds_mps(ids, time_s)
        return np.asarray(time_s + np.divide(slack_m, fastest, out=np.full(len(ids), np.inf), where=fastest > 0))
