"""Bernoulli selection."""

from __future__ import annotations

from itertools import count
from typing import Annotated

from pydantic import Field

from edgefl.coordination.selection.base import Selection, draws
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class BernoulliSelection(Selection):
    """Each device by its own coin, redrawn while nobody is in (Acar et al., ICLR 2021, FedDyn's code; FedSSG)."""

    probability: Annotated[float, Field(ge=1e-4, le=1)] | None = None  # participants / present when not given

    def expected(self, participants: int, present: float) -> float:
        """The coins' mean."""
        return super().expected(participants, present) if self.probability is None else self.probability * present

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """Coins of the first attempt in which somebody takes part."""
        p = participants / len(present) if self.probability is None else self.probability
        for attempt in count():
            chosen = present[draws(present, index, streams, attempt) < p]
            if len(chosen):
                break
        return chosen
