"""Synthetic(alpha, beta)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt

from edgefl.learning.datasets.base import Array, Data, Dataset, generator

Size = Annotated[int, Field(ge=2, le=10_000)]
NOBODY = 2**32  # the stream of what all devices share
MOST_SAMPLES = 100_000  # of a device; the lognormal law has a long tail


class Synthetic(Dataset):
    """Synthetic(alpha, beta): each device has its own classifier and inputs (FedProx, MLSys 2020, section 5.1)."""

    alpha: NonNegativeFloat = 1.0  # how much the devices' classifiers differ
    beta: NonNegativeFloat = 1.0  # how much their inputs differ
    iid: bool = False  # one classifier and one law of inputs for all: Synthetic-IID
    owners: Annotated[int, Field(ge=1, le=100_000)] = 30  # devices
    features: Size = 60
    classes: Size = 10
    seed: NonNegativeInt = 0

    def defaults(self) -> dict[str, Any]:
        """A device an owner, the paper's model."""
        return {
            "devices": {"count": self.owners},
            "data": {"partition": {"kind": "natural"}},
            "model": {"kind": "logistic"},
        }

    def load(self) -> Data:
        """50 + lognormal(4, 2) samples a device; the last tenth of each device's is for testing."""
        parts = [self._samples(owner) for owner in range(self.owners)]
        cuts = [len(y) * 9 // 10 for _, y in parts]
        halves = [[np.split(array, [cut]) for array in part] for part, cut in zip(parts, cuts, strict=True)]
        (train_x, test_x), (train_y, test_y) = (
            [np.concatenate([pair[axis][half] for pair in halves]) for half in (0, 1)] for axis in (0, 1)
        )
        owners = np.arange(self.owners)
        owner, test_owner = np.repeat(owners, cuts), np.repeat(owners, [len(test) for _, (_, test) in halves])
        return Data(train_x, train_y, test_x, test_y, classes=self.classes, owner=owner, test_owner=test_owner)

    def _samples(self, owner: int) -> tuple[Array, Array]:
        """One device's x [n, features] and y [n].

        W ~ N(u, 1), b ~ N(u, 1) with u ~ N(0, alpha^2); x ~ N(v, diag(j^-1.2)) with v ~ N(B, 1), B ~ N(0, beta^2);
        y = argmax(W x + b). The paper writes variances alpha and beta, its code draws standard deviations, as here.
        """
        rng = generator(self.seed, "synthetic", owner)
        count = 50 + min(int(rng.lognormal(4, 2)), MOST_SAMPLES)
        u, center = rng.normal(0, self.alpha), rng.normal(0, self.beta)
        v = rng.normal(center, 1, self.features)
        law = rng
        if self.iid:
            law, u, v = generator(self.seed, "synthetic", NOBODY), 0.0, np.zeros(self.features)
        w, b = law.normal(u, 1, (self.features, self.classes)), law.normal(u, 1, self.classes)
        x = v + rng.normal(size=(count, self.features)) * np.arange(1, self.features + 1) ** -0.6
        return x.astype(np.float32), (x @ w + b).argmax(1)
