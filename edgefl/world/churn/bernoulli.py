"""A coin a device and round."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.arrays import Floats, Ids
from edgefl.core.distributions import CHANCE, Chance, draw
from edgefl.core.section import fault
from edgefl.core.streams import Streams
from edgefl.world.churn.base import Churn, Presence


class BernoulliChurn(Churn):
    """Each device is there in a round with a chance of its own (FedAR, section 6; MIFA, NeurIPS 2021, section 5).

    With `p_min` the chance is p_min + (1 - p_min) l / (L - 1), l the lowest of the labels 0 to L - 1 that the device
    has: the first classes are rarely heard of. Else it is `probability`, or drawn from it.
    """

    by_round: ClassVar[bool] = True

    probability: Chance | None = None
    p_min: Annotated[float, Field(gt=0, le=1)] | None = None

    @model_validator(mode="after")
    def _one(self) -> BernoulliChurn:
        if (self.probability is None) == (self.p_min is None):
            raise fault("needs either probability or p_min")
        return self

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Chances, drawn once; coins, one a round."""
        if self.p_min is not None:
            chances = self.p_min + (1 - self.p_min) * lowest_label / max(classes - 1, 1)
        elif self.probability is not None:
            chances = draw("availability", self.probability, CHANCE, np.arange(count), streams)
        return Coins(chances, streams)


class Coins(Presence):
    """One coin a device and round, whatever the time is."""

    by_round = True

    def __init__(self, chances: Floats, streams: Streams) -> None:
        super().__init__(chances)
        self._streams = streams

    def present(self, time_s: float, index: int) -> Ids:
        """Those whose coin fell so."""
        ids = super().present(time_s, index)
        return ids[self._streams.uniform("availability", ids, index) < self.probabilities]
