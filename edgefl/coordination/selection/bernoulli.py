"""Bernoulli selection."""

from itertools import count
from typing import Annotated

from pydantic import Field

from edgefl.coordination.selection.base import Selection, draws
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class BernoulliSelection(Selection):
    """Each device takes part with a probability, redrawn if none does (FedDyn's program, Acar et al., ICLR 2021)."""

    # Probability that each device is chosen; by default participants / present.
    probability: Annotated[float, Field(ge=1e-4, le=1)] | None = None

    def expected(self, participants: int, present: float) -> float:
        """Return the mean number of devices whose coins say yes."""
        if self.probability is None:
            return super().expected(participants, present)
        return self.probability * present

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices whose coins say yes, in the first attempt where any does."""
        probability = self.probability
        if probability is None:
            probability = participants / len(present)
        for attempt in count():
            chosen = present[draws(present, index, streams, attempt) < probability]
            if len(chosen):
                break
        return chosen
