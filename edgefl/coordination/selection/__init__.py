"""Selections, which choose the participants of a round: one file a selection; `base.py` says how to write one."""

from edgefl.coordination.selection.base import Selection
from edgefl.core.catalogue import Catalogue, members_of

SELECTIONS: Catalogue[Selection] = Catalogue(
    noun="selection",
    members=members_of(__file__),
    base=Selection,
    kind="selection",
)

__all__ = ["SELECTIONS", "Selection"]
