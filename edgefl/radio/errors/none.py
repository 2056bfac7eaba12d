"""No packet errors."""

from edgefl.radio.errors.base import PacketErrors


class NoErrors(PacketErrors):
    """No errors: everything that the rate model carries arrives, except for `radio.faults`."""
