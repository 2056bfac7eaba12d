"""Groups that move together."""

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Floats, Ids
from edgefl.core.section import Count
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Track, WithSpeed, duration_s
from edgefl.world.mobility.random_waypoint import Waypoints


class GroupMobility(WithSpeed):
    """Reference-point group mobility (Hong et al., MSWiM 1999): members stroll around a centre, which moves at random.

    Devices i with the same i // size are a group. Its centre is a random waypoint at the speed of the group's first
    device; each member is another random waypoint in the disc around it. Both start in their stationary laws.
    """

    size: Count = 10  # Number of devices in a group.
    spread_m: Annotated[float, Field(ge=0.01)] = 20.0  # Greatest distance of a member from the centre.
    member_speed_mps: Annotated[float, Field(ge=0, le=1e4)] = 1.0  # Speed of members relative to the centre.

    def check(self, area: Area) -> str | None:
        """Return why centres have no room between hole and edge; None if they have."""
        most_m = (area.radius_m - area.min_distance_m) / 4
        if self.spread_m <= most_m:
            return None
        room = "a quarter of the way from hole to edge of the cell"
        return f"spread_m must be <= {most_m:g}, {room}, got {self.spread_m:g}"

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return the track of groups whose centres keep `spread_m` away from hole and edge."""
        # Members stay within spread_m, so they keep out of the hole and within the edge.
        inner = Area(area.min_distance_m + self.spread_m, area.radius_m - self.spread_m)
        speeds = self.speeds(count, streams)
        centres = Waypoints(inner, speeds[:: self.size], streams)
        members = Waypoints(Area(0.0, self.spread_m), np.full(count, self.member_speed_mps), streams, "member")
        return _GroupTrack(speeds, self.size, centres, members)


class _GroupTrack(Track):
    """The sum of two movements: of the centres, and of members around them."""

    def __init__(self, speeds_mps: Floats, size: int, centres: Waypoints, members: Waypoints) -> None:
        super().__init__(speeds_mps)
        self.size = size
        self.centres = centres
        self.members = members

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        return self.centres.positions_m(ids // self.size, time_s) + self.members.positions_m(ids, time_s)

    def path_m(self, device: int, times_s: Floats) -> Floats:
        return self.centres.path_m(device // self.size, times_s) + self.members.path_m(device, times_s)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        # As vectors: a member that walks against its centre is slower than both.
        centre = self.centres.velocities_mps(ids // self.size, time_s)
        velocity = centre + self.members.velocities_mps(ids, time_s)
        return np.asarray(np.hypot(velocity[:, 0], velocity[:, 1]))

    def stays_within_until_s(self, ids: Ids, time_s: float, distance_m: Floats) -> Floats:
        """Return when devices [n] have moved by distances [n] if both movements go in one direction."""
        fastest_mps = self.centres.speeds_mps(ids // self.size, time_s) + self.members.speeds_mps(ids, time_s)
        return np.asarray(time_s + duration_s(distance_m, fastest_mps))
