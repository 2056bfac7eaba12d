"""Uniform selection."""

from __future__ import annotations

import numpy as np

from edgefl.selection.base import Ids, Selection
from edgefl.streams import Streams


class UniformSelection(Selection):
    """A fixed number, uniform without replacement, in random order (McMahan et al., AISTATS 2017)."""

    def choose(self, present: Ids, participants: int, index: int, streams: Streams) -> Ids:
        """Every device draws a number by its own key; the smallest take part."""
        draws = streams.uniform("selection", present, index)
        return present[np.argsort(draws, kind="stable")[:participants]]
