"""The section `cells`: base stations, how far they cover, and how devices are handed over between them."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from edgefl.core.arrays import Floats
from edgefl.core.section import Section, fault_at
from edgefl.world.mobility.base import Area

Within = Annotated[float, Field(ge=-1e6, le=1e6)]
Point = Annotated[tuple[Within, Within], Field(strict=False)]
Seconds = Annotated[float, Field(ge=0, le=60)]

RINGS = {1: 0, 7: 1, 19: 2}  # around the middle, of so many hexagons


class Handover(Section):
    """Event A3 (3GPP TS 38.331, clause 5.5.4.4): a neighbour is better by a hysteresis, for a time to trigger."""

    hysteresis_db: Annotated[float, Field(ge=0, le=30)] = 3.0
    time_to_trigger_s: Seconds = 0.16
    measure_s: Annotated[float, Field(ge=1e-3, le=60)] = 0.04  # received powers are looked at in its multiples
    interruption_s: Seconds = 0.05  # of a transfer
    in_transfer: Literal["continue", "restart", "forward", "drop"] = "continue"  # what becomes of one under way
    forward_s: Seconds = 0.02  # on top, where what has been sent so far is forwarded between the base stations

    @property
    def pause_s(self) -> float:
        """How long a transfer stands still."""
        return self.interruption_s + (self.forward_s if self.in_transfer == "forward" else 0.0)


class Cells(Section):
    """Where base stations are and how far they cover."""

    layout: Literal["single", "hexagonal", "listed"] = "single"
    sites: Annotated[int, Field(ge=1)] = 1  # base stations; 7 where the layout is hexagonal and nothing is said
    positions_m: Annotated[tuple[Point, ...], Field(strict=False, max_length=1000)] = ()  # of a listed layout's
    radius_m: PositiveFloat = 250.0  # of a base station's disc; of a hexagon's corners
    min_distance_m: PositiveFloat = 10.0
    bs_height_m: Annotated[float, Field(gt=1, le=1000)] = 10.0  # above what fills the street
    wrap_around: bool = False  # whether the far side of a hexagonal layout is next to its edge
    handover: Handover | None = None

    @model_validator(mode="before")
    @classmethod
    def _count(cls, value: Any) -> Any:
        """How many sites there are, where nothing is said."""
        if not isinstance(value, dict) or value.get("sites") is not None:
            return value
        listed = value.get("positions_m")
        if value.get("layout") == "listed" and isinstance(listed, list | tuple) and listed:
            return {**value, "sites": len(listed)}
        return {**value, "sites": 7} if value.get("layout") == "hexagonal" else value

    @model_validator(mode="after")
    def _layout(self) -> Cells:
        listed = self.layout == "listed"
        if listed and not self.positions_m:
            raise fault_at(("positions_m",), "is required: [[x, y], ...], where the base stations stand")
        if self.positions_m and not listed:
            raise fault_at(("positions_m",), f"the layout {self.layout} has its own: set layout to listed")
        if len(set(self.positions_m)) < len(self.positions_m):
            raise fault_at(("positions_m",), "two base stations stand in the same place")
        if listed and self.sites != len(self.positions_m):
            text = f"{len(self.positions_m)} positions are listed, got {self.sites}: leave it out"
            raise fault_at(("sites",), text)
        if not listed and self.sites not in RINGS:
            raise fault_at(("sites",), f"must be 1, 7 or 19, got {self.sites}")
        if self.layout == "single" and self.sites > 1:
            raise fault_at(("sites",), f"a single cell has one site, got {self.sites}: set layout to hexagonal")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Cells:
        if self.min_distance_m >= self.radius_m:
            text = f"must be < radius_m = {self.radius_m:g}, got {self.min_distance_m:g}"
            raise fault_at(("min_distance_m",), text)
        if self.wrap_around and (self.layout != "hexagonal" or self.sites == 1):
            raise fault_at(("wrap_around",), "needs a hexagonal layout of 7 or 19 sites")
        if self.handover and self.sites == 1:
            raise fault_at(("handover",), "needs several cells: set layout to hexagonal or listed")
        return self

    def check_reuse(self, reuse: int) -> str | None:
        """Why the cells cannot divide the band into so many parts, or None."""
        if reuse == 1:
            return None
        if self.sites == 1:
            return "needs several cells: set cells.layout to hexagonal"
        if self.layout == "listed":
            return "needs a hexagonal layout, in which neighbours are known: leave it out"
        if self.wrap_around and (self.sites, reuse) != (7, 7):
            return f"with wrap_around cells of one part would meet across the edge: 1, or 7 of 7 sites; got {reuse}"
        return None

    @cached_property
    def sites_m(self) -> Floats:
        """Positions [sites, 2] of the base stations."""
        from channel.geometry import hexagonal_sites_m

        if self.layout == "listed":
            return np.array(self.positions_m, dtype=np.float64)
        return hexagonal_sites_m(self.sites, self.spacing_m)

    def distances_m(self, positions_m: Floats) -> Floats:
        """Ground distances [n, sites] of positions [n, 2]; where the layout wraps around, to the nearest images."""
        from channel.geometry import wrapped_m

        offsets = positions_m[:, None, :] - self.sites_m
        if self.wrap_around:
            offsets = wrapped_m(offsets, self.sites, self.spacing_m)
        return np.hypot(offsets[..., 0], offsets[..., 1])

    @property
    def spacing_m(self) -> float:
        """Distance between neighbouring base stations of a hexagonal layout."""
        return math.sqrt(3.0) * self.radius_m

    @property
    def coverage_m(self) -> float:
        """Radius of the disc around (0, 0) in which devices are: all that the base stations cover."""
        if self.layout == "listed":
            return self.radius_m + max(math.hypot(*point) for point in self.positions_m)
        return self.radius_m + RINGS[self.sites] * self.spacing_m

    @property
    def area(self) -> Area:
        """Where devices are, and what of it is covered."""
        sites = tuple((x, y) for x, y in self.sites_m.tolist())
        return Area(self.min_distance_m, self.coverage_m, sites, math.inf if self.wrap_around else self.radius_m)

    @property
    def nearest_m(self) -> float:
        """How near a device can come to a base station; only the middle one of a layout has a hole around it."""
        return self.min_distance_m if self.sites == 1 and self.layout != "listed" else 0.0

    @property
    def farthest_m(self) -> float:
        """How far a device can be from a base station."""
        if self.wrap_around:
            return math.sqrt(self.sites) * self.radius_m  # to the corner between three images
        return self.coverage_m if self.sites == 1 and self.layout != "listed" else 2.0 * self.coverage_m
