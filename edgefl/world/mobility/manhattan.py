"""Manhattan streets."""

from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat

from edgefl.core.arrays import Floats
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Track, WithSpeed
from edgefl.world.mobility.legs import Corners, Legs, timed

HEADINGS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))  # their order is part of the draws


class Manhattan(WithSpeed):
    """A grid of streets; at a crossing straight on with probability 0.5, left or right 0.25 (Bai et al., INFOCOM 2003).

    The base station stands in the middle of a block. Where the drawn direction has no street, the device turns back. So
    as many ways lead into each piece of street as out of it, and the uniform law on all streets is stationary.
    """

    block_m: PositiveFloat = 100.0  # Distance between parallel streets.
    # Probability of a turn; left and right are equally likely.
    turn_probability: Annotated[float, Field(ge=0, le=1)] = 0.5

    def check(self, area: Area) -> str | None:
        """Return why the hole does not fit into a block, or a block into the area; None if both fit."""
        nearest_crossing = self.block_m * np.array([0.5, 0.5])
        # The streets around the middle block pass it at half a block.
        least_m = 2 * area.min_distance_m
        if least_m <= self.block_m and area.covers(nearest_crossing):
            return None
        most_m = np.sqrt(2) * area.radius_m
        bounds = f"from {least_m:g} (twice cells.min_distance_m) to {most_m:g} (a block in the cell)"
        return f"block_m must be {bounds}, got {self.block_m:g}"

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return a track on which each device keeps its speed."""
        return _ManhattanTrack(self, area, self.speeds(count, streams), streams)


class _ManhattanTrack(Legs):
    """Crossings are counted in blocks; the base station is in the middle of one, so they lie at halves."""

    def __init__(self, model: Manhattan, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        super().__init__(speeds_mps)
        self.model = model
        self.area = area
        self.streams = streams

    def corners(self, device: int) -> Corners:
        return timed(self._crossings(device), float(self._speeds_mps[device]))

    def _crossings(self, device: int) -> Corners:
        block_m = self.model.block_m
        rng = self.streams.generator("street", device)
        crossing, heading = self._first_block(rng)
        distance_m = -block_m * rng.random()  # of the crossing behind: the device is anywhere on its block
        while True:
            yield distance_m, block_m * crossing
            distance_m = distance_m + block_m
            crossing = crossing + heading
            drawn = self._draw_heading(rng, heading)
            heading = drawn if self._has_street(crossing + drawn) else -heading

    def _draw_heading(self, rng: np.random.Generator, heading: Floats) -> Floats:
        """Return the heading that a device wants to take from a crossing."""
        turns = self.model.turn_probability
        left = np.array([-heading[1], heading[0]])
        u = rng.random()
        if u < turns / 2:
            return left
        if u < turns:
            return -left
        return heading

    def _first_block(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return a piece of street, each equally likely: the crossing behind the device, and its heading."""
        reach = int(self.area.radius_m / self.model.block_m + 0.5)
        while True:
            crossing = np.float64(0.5) + rng.integers(-reach, reach, size=2)
            heading = np.array(HEADINGS[rng.integers(len(HEADINGS))])
            if self._has_street(crossing) and self._has_street(crossing + heading):
                return crossing, heading

    def _has_street(self, crossing: Floats) -> bool:
        """Return whether a crossing is in the area, where all streets are."""
        return bool(self.area.covers(self.model.block_m * crossing))
