"""Base of the models of background traffic: other users, which share a cell's band with the devices that learn.

A new model is one file in this folder and one line in its `members.csv`: a class with `mean_load` and
`users`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member
from edgefl.core.section import fault_at
from edgefl.radio.propagation.base import Decibels
from edgefl.radio.transfers import Way

DRAWN_AT_ONCE = 64  # of a cell's numbers: how many never changes a result
DEFAULT_SHAPE = 1.5  # of a Pareto law where none is given: a finite mean and an infinite variance


class OtherUsers(ABC):
    """The other users of one cell in one direction over time."""

    @property
    @abstractmethod
    def count(self) -> float:
        """Return the number on the air now; a fraction if it is a mean over time."""

    @abstractmethod
    def advance(self, time_s: float, transfers: int) -> None:
        """Advance to `time_s` [s], while `transfers` of devices share the band."""

    @abstractmethod
    def next_change_s(self, transfers: int) -> float:
        """Return the time [s] of the next change of their number, if that of transfers stays; inf: never."""

    def free_share(self, transfers: int) -> float:
        """Return the share of the band that is left to so many transfers, if each user takes as much as a transfer."""
        if transfers == 0:
            return 1.0
        return transfers / (transfers + self.count)


class Background(Member):
    """Base class of all background traffic."""

    # Transmit power of each other user; only their interference in other cells depends on it.
    tx_power_dbm: Decibels = 23.0
    uplink: Annotated[float, Field(ge=0, le=1000)] = 1.0  # Load of the uplink over that of the downlink.

    def mean_load(self, way: Way, capacity_hz: float) -> float | None:
        """Return the share of the band that they fill on average, below 1; None if it depends on the devices.

        With shares that hold for the round, the devices lose this share of the band.

        Args:
            way: the direction.
            capacity_hz: the part of the band that carries payload, averaged over time.
        """
        raise NotImplementedError

    def users(self, way: Way, capacity_hz: float, generator: np.random.Generator) -> OtherUsers:
        """Return the other users of one cell, in equilibrium at time 0.

        Args:
            way: the direction.
            capacity_hz: the part of the band that carries payload, averaged over time.
            generator: of the cell's draws.
        """
        raise NotImplementedError

    def times(self, way: Way) -> float:
        """Return the traffic of a direction over that of the downlink."""
        return 1.0 if way == "down" else self.uplink


class Law(Member):
    """A base of members with sizes or durations of sessions: their law, by its mean."""

    law: Literal["exponential", "fixed", "pareto"] = "exponential"  # Law of what each session has.
    # Shape of a Pareto law, such as 1.5; the less, the heavier.
    shape: Annotated[float, Field(gt=1, le=1000)] | None = None

    @model_validator(mode="after")
    def _check_shape(self) -> Law:
        if self.shape is not None and self.law != "pareto":
            raise fault_at(("shape",), f"is for the law pareto, not for {self.law}: leave it out")
        return self

    def draws(self, generator: np.random.Generator, count: int, mean: float) -> Floats:
        """Return independent draws [count] with a mean."""
        if self.law == "fixed":
            return np.full(count, mean)
        uniform = 1.0 - generator.random(count)  # above 0
        if self.law == "exponential":
            return np.asarray(-mean * np.log(uniform))
        shape = self.shape or DEFAULT_SHAPE
        least = mean * (shape - 1) / shape
        return np.asarray(least * uniform ** (-1 / shape))

    def rests(self, generator: np.random.Generator, count: int, mean: float) -> Floats:
        """Return the remainders of sessions [count] under way: density is the tail over the mean (renewal theory)."""
        if self.law == "exponential":  # it has no memory
            return self.draws(generator, count, mean)
        uniform = 1.0 - generator.random(count)
        if self.law == "fixed":
            return np.asarray(mean * uniform)
        shape = self.shape or DEFAULT_SHAPE
        least = mean * (shape - 1) / shape
        below = uniform * shape / (shape - 1)  # up to the least size the tail is 1
        beyond = np.maximum(shape * (1.0 - uniform), np.finfo(float).tiny) ** (-1 / (shape - 1))
        return np.where(below <= 1, least * below, least * beyond)

    def arrivals(
        self, generator: np.random.Generator, arrivals_per_s: float, mean: float
    ) -> Iterator[tuple[float, float]]:
        """Yield the arrivals of a Poisson process from time 0 on: the time [s], and the size of the session."""
        time_s = 0.0
        while True:
            gaps_s = generator.exponential(1 / arrivals_per_s, DRAWN_AT_ONCE).tolist()
            sizes = self.draws(generator, DRAWN_AT_ONCE, mean).tolist()
            for gap_s, size in zip(gaps_s, sizes, strict=True):
                time_s += gap_s
                yield time_s, size
