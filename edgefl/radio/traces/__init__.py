"""Recorded links instead of a channel model: one file for each format."""

from edgefl.core.catalogue import Catalogue
from edgefl.radio.traces.base import LinkTrace, Recording

TRACES: Catalogue[LinkTrace] = Catalogue(
    noun="link trace",
    members={
        "csv": "edgefl.radio.traces.table:CsvTrace",
        "drive_test": "edgefl.radio.traces.drive_test:DriveTestTrace",
        "g_nettrack": "edgefl.radio.traces.drive_test:DriveTestTrace",  # its earlier name
        "mahimahi": "edgefl.radio.traces.mahimahi:MahimahiTrace",
    },
    base=LinkTrace,
    kind="traces",
)

__all__ = ["TRACES", "LinkTrace", "Recording"]
