"""Hexagonal cells as the area of the devices."""

from dataclasses import dataclass
from functools import cached_property
from math import copysign, cos, dist, inf, pi, sin, sqrt, tan

import numpy as np

from channel.geometry import NEWTON_STEPS, axial_sites, hexagon_offsets_m, wrapping_shifts
from edgefl.core.arrays import Bools, Floats
from edgefl.world.mobility.area import SAFE_PART, Area, Wall

Cell = tuple[int, int]  # axial coordinates of a hexagon

# The six edges of a hexagon, by the angle of their normals: the neighbour behind it, and the normal itself.
STEPS: tuple[Cell, ...] = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
NORMALS = tuple((cos(k * pi / 3), sin(k * pi / 3)) for k in range(6))


@dataclass(frozen=True)
class Hexagons(Area):
    """The hexagons of a layout, except a hole of `min_distance_m` around each base station.

    `radius_m` is the radius of a disc around them all; base stations come in the order of
    `channel.geometry.axial_sites`.
    """

    corner_m: float = 0.0  # of a hexagon from its base station

    @property
    def is_convex(self) -> bool:
        return len(self.sites_m) == 1

    @property
    def edge_m(self) -> float:
        """Return how far an edge of a hexagon is from its base station."""
        return self.corner_m * sqrt(3) / 2

    @cached_property
    def _centres(self) -> dict[Cell, tuple[float, float]]:
        cells = axial_sites(len(self.sites_m)).tolist()
        return {(q, r): site for (q, r), site in zip(cells, self.sites_m, strict=True)}

    def points(self, u: Floats) -> Floats:
        count = len(self.sites_m)
        # The first draw picks the hexagon; its remainder is uniform again.
        site = np.minimum(np.floor(u[..., 0] * count), count - 1)
        within = np.stack([u[..., 0] * count - site, u[..., 1]], axis=-1)
        offsets_m = hexagon_offsets_m(within, self.min_distance_m, self.corner_m)
        return np.array(self.sites_m)[site.astype(np.int64)] + offsets_m

    def point(self, u: float, v: float) -> tuple[float, float]:
        count = len(self.sites_m)
        site = min(int(u * count), count - 1)
        turn = 6 * (u * count - site)
        sector = min(int(turn), 5)
        ratio = (self.min_distance_m / self.edge_m) ** 2
        target = (2 * (turn - sector) - 1) * (tan(pi / 6) - ratio * pi / 6)
        angle = copysign(pi / 6, target)
        for _ in range(NEWTON_STEPS):
            angle -= (tan(angle) - ratio * angle - target) / (1 / cos(angle) ** 2 - ratio)
        hole = self.min_distance_m**2
        distance_m = sqrt(hole + v * ((self.edge_m / cos(angle)) ** 2 - hole))
        azimuth = sector * pi / 3 + angle
        x, y = self.sites_m[site]
        return x + distance_m * cos(azimuth), y + distance_m * sin(azimuth)

    def covers(self, points_m: Floats) -> Bools:
        """Return which points [..., 2] are in a hexagon, up to rounding."""
        offsets_m = points_m[..., None, :] - np.array(self.sites_m)  # [..., sites, 2]
        return np.asarray(((offsets_m @ np.array(NORMALS).T).max(axis=-1) <= self.edge_m / SAFE_PART).any(axis=-1))

    def wall(self, point: Floats, direction: Floats) -> Wall:
        x, y = point.tolist()
        dx, dy = direction.tolist()
        cell = min(self._centres, key=lambda known: dist(self._centres[known], (x, y)))
        passed_m = 0.0
        # From hexagon to hexagon, up to the edge. Lengths count from the point, so no rounding adds up.
        while True:
            centre_x, centre_y = self._centres[cell]
            offset = (x - centre_x, y - centre_y)
            hole_m = self._hole_m(offset, (dx, dy))
            if hole_m is not None:
                return Wall(max(hole_m, passed_m), is_edge=False, centre=np.array((centre_x, centre_y)))
            gap_m, edge = self._edge(offset, (dx, dy))
            passed_m = max(gap_m, passed_m)
            beyond = (cell[0] + STEPS[edge][0], cell[1] + STEPS[edge][1])
            if beyond not in self._centres:
                normal = np.array(NORMALS[edge])
                return Wall(passed_m, is_edge=True, normal=normal, opposite_m=self._opposite_m(beyond))
            cell = beyond

    def _hole_m(self, offset: tuple[float, float], direction: tuple[float, float]) -> float | None:
        """Return the distance along a direction to the hole, seen from its base station; None if it is missed."""
        along = offset[0] * direction[0] + offset[1] * direction[1]
        discriminant = along**2 - offset[0] ** 2 - offset[1] ** 2 + self.min_distance_m**2
        if along >= 0 or discriminant <= 0:
            return None
        return -along - sqrt(discriminant)

    def _edge(self, offset: tuple[float, float], direction: tuple[float, float]) -> tuple[float, int]:
        """Return the distance along a direction to a hexagon's edge, and the number of that edge."""
        nearest_m = inf
        nearest = 0
        for number, (normal_x, normal_y) in enumerate(NORMALS):
            speed = direction[0] * normal_x + direction[1] * normal_y
            if speed <= 0:
                continue
            gap_m = (self.edge_m - offset[0] * normal_x - offset[1] * normal_y) / speed
            if gap_m < nearest_m:
                nearest_m = gap_m
                nearest = number
        return nearest_m, nearest

    def _opposite_m(self, beyond: Cell) -> Floats:
        """Return the way from a hexagon beyond the edge to the hexagon of the layout that it copies."""
        spacing_m = 2 * self.edge_m
        for q, r in wrapping_shifts(len(self.sites_m)).tolist():
            if (beyond[0] - q, beyond[1] - r) in self._centres:
                return -spacing_m * np.array([q + r / 2, r * sqrt(3) / 2])
        raise AssertionError(beyond)  # copies of the layout tile the plane

    def sees(self, start: tuple[float, float], end: tuple[float, float]) -> bool:
        length_m = dist(start, end)
        if length_m == 0:
            return True
        origin = np.array(start)
        return self.wall(origin, (np.array(end) - origin) / length_m).gap_m >= length_m

    def is_open(self, points_m: Floats, length_m: Floats) -> Bools:
        offsets_m = points_m[:, None, :] - np.array(self.sites_m)  # [n, sites, 2]
        distance_m = np.hypot(offsets_m[..., 0], offsets_m[..., 1])
        own = np.argmin(distance_m, axis=1)
        rows = np.arange(len(points_m))
        # A device that stays in its hexagon meets no edge; an edge with a neighbour behind it counts as a wall here.
        to_edge_m = self.edge_m - (offsets_m[rows, own] @ np.array(NORMALS).T).max(axis=1)
        room_m = np.minimum(distance_m[rows, own] - self.min_distance_m, to_edge_m)
        return np.asarray(length_m < room_m * SAFE_PART)
