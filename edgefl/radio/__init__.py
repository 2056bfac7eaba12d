"""The radio link: what a round's participants get from `channel`, with keyed randomness filled in."""

from edgefl.radio.carrier import Carrier, Leg
from edgefl.radio.large_scale import Drop, LargeScaleChannel
from edgefl.radio.link import Link

__all__ = ["Carrier", "Drop", "LargeScaleChannel", "Leg", "Link"]
