"""Recorded links instead of a channel model: one file for each format."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.radio.traces.base import LinkTrace, Recording

TRACES: Catalogue[LinkTrace] = Catalogue(
    noun="link trace",
    members=members_of(__file__),  # g_nettrack: the earlier name of drive_test
    base=LinkTrace,
    kind="traces",
)

__all__ = ["TRACES", "LinkTrace", "Recording"]
