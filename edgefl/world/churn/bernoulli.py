"""A coin for each device and round."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.arrays import Floats, Ids
from edgefl.core.per_device import CHANCE, Chance, draw
from edgefl.core.section import fault
from edgefl.core.streams import Streams
from edgefl.world.churn.base import Churn, Presence


class BernoulliChurn(Churn):
    """Each device is present in a round with its own chance (FedAR, section 6; MIFA, NeurIPS 2021, section 5).

    With `p_min` the chance is ``p_min + (1 - p_min) l / (L - 1)``, where l is the lowest of the labels 0 to L - 1 that
    the device has, so devices with the first classes are rarely present. Otherwise it is `probability`, or drawn from
    it.
    """

    by_round: ClassVar[bool] = True

    probability: Chance | None = None  # Probability that a device is present, one number or a distribution.
    p_min: Annotated[float, Field(gt=0, le=1)] | None = None  # Probability of devices with samples of class 0.

    @model_validator(mode="after")
    def _check_one_is_given(self) -> BernoulliChurn:
        if (self.probability is None) == (self.p_min is None):
            raise fault("needs either probability or p_min: give exactly one of them")
        return self

    @property
    def by_classes(self) -> bool:
        """True if probabilities follow from the lowest class of each device."""
        return self.p_min is not None

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Return presence by coins: each device draws its probability once, and tosses its coin in each round."""
        if self.p_min is not None:
            probabilities = self.p_min + (1 - self.p_min) * lowest_label / max(classes - 1, 1)
        elif self.probability is not None:
            probabilities = draw("availability", self.probability, CHANCE, np.arange(count), streams)
        return CoinPresence(probabilities, streams)


class CoinPresence(Presence):
    """Each device tosses a coin in each round, whatever the time."""

    by_round: ClassVar[bool] = True

    def __init__(self, probabilities: Floats, streams: Streams) -> None:
        super().__init__(probabilities)
        self._streams = streams

    def present(self, time_s: float, index: int) -> Ids:
        """Return the devices whose coins make them present in round `index`."""
        ids = super().present(time_s, index)  # all of them
        return ids[self._streams.uniform("availability", ids, index) < self.probabilities]
