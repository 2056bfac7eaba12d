"""Manhattan streets."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat

from edgefl.core.arrays import Floats
from edgefl.core.streams import Streams
from edgefl.world.mobility.base import Area, Track, WithSpeed
from edgefl.world.mobility.legs import Corners, Legs, timed


class Manhattan(WithSpeed):
    """A grid of streets; at a crossing straight on with 0.5, left and right with 0.25 (Bai et al., INFOCOM 2003).

    The base station stands in the middle of a block. Where there is no street in the drawn direction, the device turns
    back. So as many ways lead into each piece of street as out of it, and the uniform law on all streets is stationary.
    """

    block_m: PositiveFloat = 100.0  # between parallel streets
    turn_probability: Annotated[float, Field(ge=0, le=1)] = 0.5  # left and right equally likely

    def check(self, area: Area) -> str | None:
        """A block must hold the hole around the base station, and the area a block."""
        low, high = 2 * area.min_distance_m, np.sqrt(2) * area.radius_m
        if low <= self.block_m and area.covers(self.block_m * np.array([0.5, 0.5])):
            return None
        bounds = f"from {low:g} (twice cells.min_distance_m) to {high:g} (a block in the cell)"
        return f"block_m must be {bounds}, got {self.block_m:g}"

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Each device moves at its own constant speed."""
        return _Drive(self, area, self.speeds(count, streams), streams)


class _Drive(Legs):
    def __init__(self, model: Manhattan, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        super().__init__(speeds_mps)
        self.model, self.area, self.streams = model, area, streams

    def corners(self, device: int) -> Corners:
        """Crossings."""
        return timed(self._crossings(device), float(self._speeds_mps[device]))

    def _crossings(self, device: int) -> Corners:
        block, turns = self.model.block_m, self.model.turn_probability
        rng = self.streams.generator("street", device)
        crossing, heading = self._start(rng)
        distance = -block * rng.random()
        while True:
            yield distance, block * crossing
            distance, crossing = distance + block, crossing + heading
            u = rng.random()
            left = np.array([-heading[1], heading[0]])
            wanted = left if u < turns / 2 else -left if u < turns else heading
            heading = wanted if self._open(crossing + wanted) else -heading

    def _start(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """A piece of street, each equally likely: its crossing (in blocks, at halves) and its direction."""
        reach = int(self.area.radius_m / self.model.block_m + 0.5)
        while True:
            crossing = np.float64(0.5) + rng.integers(-reach, reach, size=2)
            heading = np.array([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][rng.integers(4)])
            if self._open(crossing) and self._open(crossing + heading):
                return crossing, heading

    def _open(self, crossing: Floats) -> bool:
        """Whether a crossing lies in the area."""
        return bool(self.area.covers(self.model.block_m * crossing))
