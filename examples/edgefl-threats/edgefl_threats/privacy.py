"""Differential privacy of devices, given by the server, and what it costs in epsilon."""

import logging
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator
from torch import Tensor

from edgefl.learning.algorithms import RunInfo, Updates
from edgefl_threats.combined import Combined, Vectors

Sampling = Literal["poisson", "fixed"]


def clipped(vectors: Vectors, clip: float) -> Vectors:
    """Return vectors [C, d], none longer than `clip`."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors * np.minimum(1.0, clip / np.maximum(lengths, np.finfo(vectors.dtype).tiny)).astype(vectors.dtype)


@lru_cache(maxsize=4096)
def epsilon(rounds: int, sample: float, population: int, noise_multiplier: float, delta: float, how: Sampling) -> float:
    """Return epsilon after some rounds, by the accountant of Renyi differential privacy of dp-accounting.

    Args:
        rounds: how many releases of a noisy sum.
        sample: expected number of participants of a round.
        population: number of devices.
        noise_multiplier: standard deviation of the noise over the longest update.
        delta: probability that the bound may fail.
        how: poisson: each device takes part by its own coin, and neighbours differ by one device (add or remove);
            fixed: a set of `sample` devices is drawn, and neighbours replace one device, which moves the sum twice as
            far.
    """
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    logging.getLogger("absl").setLevel(logging.ERROR)  # it warns of each order that it leaves out
    if how == "poisson":
        accountant = RdpAccountant()
        noisy_sum = dp_accounting.GaussianDpEvent(noise_multiplier)
        event = dp_accounting.PoissonSampledDpEvent(sample / population, noisy_sum)
    else:
        accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
        noisy_sum = dp_accounting.GaussianDpEvent(noise_multiplier / 2)
        event = dp_accounting.SampledWithoutReplacementDpEvent(population, round(sample), noisy_sum)
    return float(accountant.compose(event, rounds).get_epsilon(delta))


class CentralDp(Combined):
    """Central differential privacy: clipped updates, Gaussian noise on their sum (McMahan et al., ICLR 2018).

    The sum is divided by the expected number of participants, so that no device changes the divisor. The bound holds
    for a server that is trusted, devices that are all present, and the selection that `sampling` names.
    """

    clip: PositiveFloat = 1.0  # Longest update, S.
    noise_multiplier: NonNegativeFloat = 1.0  # Standard deviation of the noise over clip, z.
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5  # Probability that the bound may fail.
    # How participants are chosen: poisson goes with server.selection bernoulli, fixed with uniform.
    sampling: Sampling = "poisson"

    @model_validator(mode="after")
    def _check_accountant(self) -> "CentralDp":
        if find_spec("dp_accounting") is None:
            raise ValueError("central_dp needs the package dp-accounting: pip install dp-accounting")
        return self

    def combine(self, vectors: Vectors, updates: Updates) -> Vectors:
        """Return the noisy sum of the clipped vectors over the expected number of participants."""
        total = clipped(vectors, self.clip).sum(axis=0)
        noise = updates.run.generator("central_dp", index=updates.index).normal(size=len(total))
        return (total + self.noise_multiplier * self.clip * noise) / self._expected(updates.run)

    def _expected(self, run: RunInfo) -> float:
        return min(run.participants, float(run.population))

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return the base's columns, the share of updates that were clipped, and epsilon after this round."""
        lengths = updates.vectors["delta"].norm(dim=1)
        columns = {**self.base.trace(server, updates), "clipped": float((lengths > self.clip).double().mean())}
        if self.noise_multiplier:
            run = updates.run
            setting = (self._expected(run), run.population, self.noise_multiplier, self.delta, self.sampling)
            columns["epsilon"] = epsilon(updates.index + 1, *setting)
        return columns
