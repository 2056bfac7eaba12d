"""The page of a run under way, at an address of this machine: `edgefl run --live` (docs/live.md)."""

from edgefl.results.live.process import LivePage

__all__ = ["LivePage"]
