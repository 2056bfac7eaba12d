"""Orthogonal uplinks."""

from edgefl.radio.multiple_access.base import MultipleAccess


class Orthogonal(MultipleAccess):
    """Each upload has its own part of the band, or its own turns, as radio.allocation divides it (OFDMA, TDMA)."""
