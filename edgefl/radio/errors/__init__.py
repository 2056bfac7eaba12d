"""Packet errors from the channel: one file a model."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.radio.errors.base import PacketErrors

ERRORS: Catalogue[PacketErrors] = Catalogue(
    noun="model of packet errors",
    members=members_of(__file__),
    base=PacketErrors,
    kind="errors",
)

__all__ = ["ERRORS", "PacketErrors"]
