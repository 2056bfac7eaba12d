"""Synthetic(alpha, beta)."""

from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt

from edgefl.learning.datasets.base import Array, Data, Dataset, generator

Size = Annotated[int, Field(ge=2, le=10_000)]
SHARED = 2**32  # instead of an owner's number: the random numbers that all owners share
MOST_SAMPLES = 100_000  # of a device; the lognormal distribution has a long tail


class Synthetic(Dataset):
    """Synthetic(alpha, beta): each device has its own classifier and inputs (FedProx, MLSys 2020, section 5.1)."""

    alpha: NonNegativeFloat = 1.0  # How much the devices' classifiers differ.
    beta: NonNegativeFloat = 1.0  # How much the devices' inputs differ.
    iid: bool = False  # Whether all devices have one classifier and one distribution of inputs, as in Synthetic-IID.
    owners: Annotated[int, Field(ge=1, le=100_000)] = 30  # Number of devices whose data are drawn.
    features: Size = 60  # Number of features of a sample.
    classes: Size = 10  # Number of labels.
    seed: NonNegativeInt = 0  # Seed of the data, apart from the scenario's.

    def defaults(self) -> dict[str, Any]:
        """Return one device for each owner, and the paper's model."""
        return {
            "devices": {"count": self.owners},
            "data": {"partition": {"kind": "natural"}},
            "model": {"kind": "logistic"},
        }

    def load(self) -> Data:
        """Draw 50 + lognormal(4, 2) samples for each owner; the last tenth of them is for testing."""
        train_x: list[Array] = []
        train_y: list[Array] = []
        test_x: list[Array] = []
        test_y: list[Array] = []
        for owner in range(self.owners):
            x, y = self._samples(owner)
            cut = len(y) * 9 // 10  # samples are independent, so the last ones are as good as random ones
            train_x.append(x[:cut])
            train_y.append(y[:cut])
            test_x.append(x[cut:])
            test_y.append(y[cut:])
        owners = np.arange(self.owners)
        return Data(
            train_x=np.concatenate(train_x),
            train_y=np.concatenate(train_y),
            test_x=np.concatenate(test_x),
            test_y=np.concatenate(test_y),
            classes=self.classes,
            owner=np.repeat(owners, [len(y) for y in train_y]),
            test_owner=np.repeat(owners, [len(y) for y in test_y]),
        )

    def _samples(self, owner: int) -> tuple[Array, Array]:
        """Draw one owner's x [n, features] and y [n].

        `W ~ N(u, 1)`, `b ~ N(u, 1)` with `u ~ N(0, alpha^2)`; `x ~ N(v, diag(j^-1.2))` with `v ~ N(B, 1)`,
        `B ~ N(0, beta^2)`; `y = argmax(W x + b)`. The paper calls alpha and beta variances; its program draws with
        standard deviations alpha and beta, and so does this.
        """
        rng = generator(self.seed, "synthetic", owner)
        count = 50 + min(int(rng.lognormal(4, 2)), MOST_SAMPLES)
        u = rng.normal(0, self.alpha)
        center = rng.normal(0, self.beta)
        v = rng.normal(center, 1, self.features)
        # With `iid`, too, an owner's first draws are its own: its size is the same either way.
        classifier_rng = rng
        if self.iid:
            classifier_rng = generator(self.seed, "synthetic", SHARED)
            u = 0.0
            v = np.zeros(self.features)
        w = classifier_rng.normal(u, 1, (self.features, self.classes))
        b = classifier_rng.normal(u, 1, self.classes)
        std = np.arange(1, self.features + 1) ** -0.6  # the square root of the variances j^-1.2
        x = v + rng.normal(size=(count, self.features)) * std
        return x.astype(np.float32), (x @ w + b).argmax(1)  # labels from x before it is rounded to 32 bits
