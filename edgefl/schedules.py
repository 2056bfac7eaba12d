"""Learning-rate schedules."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from edgefl.catalogue import Catalogue, Member


class Schedule(Member):
    """Base of all schedules."""

    def factor(self, index: int) -> float:
        """What the initial learning rate is multiplied with in round `index`, from 0."""
        raise NotImplementedError


class ConstantRate(Schedule):
    """The same learning rate in every round."""

    def factor(self, index: int) -> float:
        """One."""
        return 1.0


class ExponentialRate(Schedule):
    """decay^t in round t (FedSSG paper, section 5: 0.998)."""

    decay: Annotated[float, Field(gt=0, le=1)] = 0.998

    def factor(self, index: int) -> float:
        """decay^index."""
        return float(self.decay**index)


class InverseRate(Schedule):
    """1 / (t + 1) in round t (MIFA, Gu et al., NeurIPS 2021; FedAR's baselines)."""

    def factor(self, index: int) -> float:
        """One over the number of the round."""
        return 1.0 / (index + 1)


SCHEDULES: Catalogue[Schedule] = Catalogue(
    "learning-rate schedule",
    {
        "constant": "edgefl.schedules:ConstantRate",
        "exponential": "edgefl.schedules:ExponentialRate",
        "inv_t": "edgefl.schedules:InverseRate",
    },
)
