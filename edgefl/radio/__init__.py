"""The radio link: what a round's participants get from `channel`, with keyed randomness filled in."""

from edgefl.radio.carrier import Carrier, Leg, OnAir, Way, ignore_on_air
from edgefl.radio.exchange import Exchange, Turns
from edgefl.radio.large_scale import Drop, LargeScaleChannel
from edgefl.radio.link import Link
from edgefl.radio.roaming import HANDOVER_FAILED, RoamingCarrier
from edgefl.radio.sidelink import Chain, Peer

__all__ = [
    "HANDOVER_FAILED",
    "Carrier",
    "Chain",
    "Drop",
    "Exchange",
    "LargeScaleChannel",
    "Leg",
    "Link",
    "OnAir",
    "Peer",
    "RoamingCarrier",
    "Turns",
    "Way",
    "ignore_on_air",
]
