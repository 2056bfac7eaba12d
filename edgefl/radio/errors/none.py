"""No packet errors."""

from __future__ import annotations

from edgefl.radio.errors.base import PacketErrors


class NoErrors(PacketErrors):
    """No errors: what the rate model carries arrives, unless `radio.faults` says otherwise."""
