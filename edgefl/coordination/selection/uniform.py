"""Uniform selection."""

from __future__ import annotations

import numpy as np

from edgefl.coordination.selection.base import Selection
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams

MANY = 2**16  # devices from which on a draw for each would take long


class UniformSelection(Selection):
    """A fixed number, uniform without replacement, in random order (McMahan et al., AISTATS 2017)."""

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """Every device draws a number by its own key, and the smallest take part; among many, the round draws them."""
        if len(present) > MANY:
            return streams.generator("selection", 1, index).choice(present, participants, replace=False)
        draws = streams.uniform("selection", present, index)
        return present[np.argsort(draws, kind="stable")[:participants]]
