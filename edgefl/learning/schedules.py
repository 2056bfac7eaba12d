"""Learning-rate schedules: the factor between a round's learning rate and that of the first round."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from edgefl.core.catalogue import Catalogue, Member
from edgefl.core.section import Count, fault_at


class Schedule(Member):
    """Base of all schedules."""

    @property
    def first_rate(self) -> float | None:
        """The learning rate of the first round if it follows from the schedule's keys; None: `training.lr`."""
        return None

    def factor(self, index: int, rounds: int) -> float:
        """Return the factor of the initial learning rate in round `index`, from 0; there are `rounds` rounds."""
        raise NotImplementedError


class ConstantRate(Schedule):
    """The same learning rate in every round."""

    def factor(self, index: int, rounds: int) -> float:
        """Return 1."""
        return 1.0


class ExponentialRate(Schedule):
    """Exponential decay, decay^t in round t (FedSSG paper, section 5: 0.998)."""

    decay: Annotated[float, Field(gt=0, le=1)] = 0.998  # Factor on the learning rate each round.

    def factor(self, index: int, rounds: int) -> float:
        """Return `decay^t`."""
        return float(self.decay**index)


class InverseRate(Schedule):
    """Inverse decay, 1 / (t + 1) in round t (MIFA, Gu et al., NeurIPS 2021; FedAR's baselines)."""

    def factor(self, index: int, rounds: int) -> float:
        """Return `1 / (t + 1)`."""
        return 1.0 / (index + 1)


class PolynomialRate(Schedule):
    """Polynomial decay, (1 - ratio) (1 - t / T)^power + ratio in round t of T (dynamic-devices paper, App. C).

    T is the number of rounds of the run, or of the session.
    """

    power: NonNegativeFloat = 0.9  # Power of the curve; 1 is a straight line.
    ratio: Annotated[float, Field(ge=0, le=1)] = 0.5  # Factor that round T would have; the last round is T - 1.

    def factor(self, index: int, rounds: int) -> float:
        """Return `(1 - ratio) (1 - t / T)^power + ratio`."""
        return float((1 - self.ratio) * (1 - index / rounds) ** self.power + self.ratio)


class CosineRate(Schedule):
    """Cosine annealing, (1 - ratio) (1 + cos(pi t / T)) / 2 + ratio in round t of T (Loshchilov and Hutter, ICLR 2017).

    T is the number of rounds of the run, or of the session.
    """

    ratio: Annotated[float, Field(ge=0, le=1)] = 0.0  # Factor that round T would have; the last round is T - 1.

    def factor(self, index: int, rounds: int) -> float:
        """Return `(1 - ratio) (1 + cos(pi t / T)) / 2 + ratio`."""
        return (1 - self.ratio) * (1 + math.cos(math.pi * index / rounds)) / 2 + self.ratio


class StepRate(Schedule):
    """Step decay, decay^floor(t / every) in round t (torch's StepLR)."""

    every: Count = 30  # Number of rounds with the same rate.
    decay: Annotated[float, Field(gt=0, le=1)] = 0.1  # Factor on the learning rate at each step.

    def factor(self, index: int, rounds: int) -> float:
        """Return `decay^floor(t / every)`."""
        return float(self.decay ** (index // self.every))


class StronglyConvexRate(Schedule):
    """The rate of theorem 1, 4 / (mu (t + a)) in round t from 1, with a = 100 (L / mu)^1.5 (FedAR, ECML PKDD 2024).

    For losses that are mu-strongly convex and L-smooth, such as logistic regression with weight decay mu. The first
    round's rate follows from both constants, so `training.lr` is left out.
    """

    strong_convexity: PositiveFloat  # Constant of strong convexity, mu.
    smoothness: PositiveFloat  # Lipschitz constant of the gradients, L, at least mu.

    @model_validator(mode="after")
    def _check_order(self) -> StronglyConvexRate:
        if self.smoothness < self.strong_convexity:
            text = f"must be at least strong_convexity ({self.strong_convexity:g}), as in all losses"
            raise fault_at(("smoothness",), text)
        return self

    @property
    def delay(self) -> float:
        """The constant a, in rounds."""
        return float(100.0 * (self.smoothness / self.strong_convexity) ** 1.5)

    @property
    def first_rate(self) -> float:
        """Return `4 / (mu (1 + a))`."""
        return 4.0 / (self.strong_convexity * (1.0 + self.delay))

    def factor(self, index: int, rounds: int) -> float:
        """Return `(1 + a) / (t + a)` in round `t = index + 1`."""
        return (1.0 + self.delay) / (index + 1.0 + self.delay)


NO_LOSSES = "a function of the round, such as step, as no schedule sees losses (stop.patience ends a run at a plateau)"

SCHEDULES: Catalogue[Schedule] = Catalogue(
    noun="learning-rate schedule",
    members={
        "constant": "edgefl.learning.schedules:ConstantRate",
        "cosine": "edgefl.learning.schedules:CosineRate",
        "exponential": "edgefl.learning.schedules:ExponentialRate",
        "inv_t": "edgefl.learning.schedules:InverseRate",
        "polynomial": "edgefl.learning.schedules:PolynomialRate",
        "step": "edgefl.learning.schedules:StepRate",
        "strongly_convex": "edgefl.learning.schedules:StronglyConvexRate",
    },
    base=Schedule,
    kind="schedules",
    elsewhere=dict.fromkeys(("plateau", "reduce_on_plateau", "ReduceLROnPlateau"), NO_LOSSES),
)
