"""Attacks: some devices train on wrong labels, or send something else than their update."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
import torch
from pydantic import Field, NonNegativeInt, PositiveFloat, model_validator
from torch import Tensor

from edgefl.learning.algorithms import ALGORITHMS, Algorithm, LocalContext, RunInfo, Updates, Wrapper
from edgefl.learning.algorithms.fedavg import FedAvg


class Attack(Wrapper):
    """Base of the attacks: the attackers deviate from `base`, an algorithm of edgefl or a rule that resists them."""

    depends_on_rounds: ClassVar[bool | None] = False

    # The algorithm that is attacked, such as fedavg or krum.
    base: Annotated[Algorithm, ALGORITHMS] = FedAvg()
    # The attackers: a share of all devices, drawn with the run's seed, or a list of ids.
    attackers: Annotated[float, Field(ge=0, le=1)] | Annotated[tuple[NonNegativeInt, ...], Field(strict=False)] = 0.2

    def ids(self, run: RunInfo) -> list[int]:
        """Return the ids of the attackers, ascending."""
        if isinstance(self.attackers, tuple):
            return sorted(self.attackers)
        devices = np.array(run.devices or range(run.population))
        drawn = run.generator("attackers").permutation(devices)
        return sorted(drawn[: round(self.attackers * len(devices))].tolist())

    def attacks(self, local: LocalContext) -> Tensor:
        """Return which devices attack [..., 1]."""
        return torch.isin(local.device_id, local.start.new_tensor(self.ids(local.run)))

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return the base's columns, and how many updates of the round came from attackers."""
        participants = updates.ids
        if updates.run.devices:
            participants = np.array(updates.run.devices)[participants]
        count = np.isin(participants, self.ids(updates.run)).sum()
        return {**self.base.trace(server, updates), "attackers": float(count)}


class LabelFlip(Attack):
    """Label flipping: attackers train on the labels K - 1 - y, or on one class as another (Tolpegin et al., 2020)."""

    source: NonNegativeInt | None = None  # The class that is flipped; by default every class y becomes K - 1 - y.
    target: NonNegativeInt | None = None  # The class that it becomes.

    @model_validator(mode="after")
    def _check_classes(self) -> "LabelFlip":
        if (self.source is None) != (self.target is None):
            raise ValueError("give both source and target, or neither")
        return self

    @property
    def needs_classes(self) -> bool:
        """True: numbers of a regression are not flipped."""
        return True

    def labels(self, y: Tensor, local: LocalContext) -> Tensor:
        """Return the flipped labels of attackers, and the others as they are."""
        y = self.base.labels(y, local)
        flipped = len(local.run.labels) - 1 - y
        if self.source is not None and self.target is not None:
            flipped = torch.where(y == self.source, self.target, y)
        return torch.where(self.attacks(local), flipped, y)


class SignFlip(Attack):
    """Sign flipping: attackers send -scale times what they would send (Li et al., AAAI 2019, section 5)."""

    scale: PositiveFloat = 1.0  # By how much the flipped update is stretched.

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the uploads, those of attackers with the other sign."""
        factor = torch.where(self.attacks(local), -self.scale, 1.0).to(w.dtype)
        return {name: factor * vector for name, vector in self.base.finish(w, local).items()}


class Gaussian(Attack):
    """Gaussian attack: attackers send normal random numbers (Blanchard et al., NeurIPS 2017, section 5)."""

    scale: PositiveFloat = 1.0  # Their standard deviation.

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the uploads, those of attackers drawn at random for each device and round."""
        attacks = self.attacks(local)
        sent = {}
        for name, vector in self.base.finish(w, local).items():
            sent[name] = torch.where(attacks, self._noise(name, vector, attacks, local), vector)
        return sent

    def _noise(self, name: str, like: Tensor, attacks: Tensor, local: LocalContext) -> Tensor:
        noise = torch.zeros_like(like).reshape(-1, like.shape[-1])
        for row in torch.nonzero(attacks.reshape(-1))[:, 0].tolist():
            device = int(local.device_id.reshape(-1)[row])
            rng = local.run.generator(f"gaussian {name}", device, int(local.index.reshape(-1)[row]))
            noise[row] = like.new_tensor(rng.normal(0.0, self.scale, like.shape[-1]))
        return noise.reshape(like.shape)
