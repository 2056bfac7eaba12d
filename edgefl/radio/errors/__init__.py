"""Packet errors from the channel: one file a model."""

from edgefl.core.catalogue import Catalogue
from edgefl.radio.errors.base import PacketErrors

ERRORS: Catalogue[PacketErrors] = Catalogue(
    noun="model of packet errors",
    members={
        "none": "edgefl.radio.errors.none:NoErrors",
        "bler": "edgefl.radio.errors.bler:Bler",
        "outage": "edgefl.radio.errors.outage:Outage",
    },
    base=PacketErrors,
    kind="errors",
)

__all__ = ["ERRORS", "PacketErrors"]
