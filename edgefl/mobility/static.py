"""Devices that stand still."""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.mobility.base import Area, Floats, Ids, Mobility, Track
from edgefl.streams import Streams


class Static(Mobility):
    """Devices stay where they are; their speed only drives the Doppler spread (dynamic-devices paper, Table I)."""

    def track(self, area: Area, speeds_mps: Floats, streams: Streams) -> Track:
        """One point each, uniform over the area."""
        return _Still(area, streams)


@dataclass(frozen=True)
class _Still:
    area: Area
    streams: Streams

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        return self.area.points(self.streams.uniform("placement", ids, count=2))
