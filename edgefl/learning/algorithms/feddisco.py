"""FedDisco."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeFloat, model_validator

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Catalogue
from edgefl.core.errors import RunError
from edgefl.core.section import fault_at
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.base import Algorithm, Updates
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.wrapper import Wrapper

if TYPE_CHECKING:
    from torch import Tensor


AVERAGING = [  # those whose server takes a mean over participants
    "fedacg", "fedadagrad", "fedadam", "fedavg", "fedavgm", "feddc", "feddyn", "fedeve", "fednova", "fedprox", "fedssg",
    "fedvra", "fedyogi", "moon", "scaffold",
]  # fmt: skip
BASES: Catalogue[Algorithm] = Catalogue("base algorithm", {name: ALGORITHMS.members[name] for name in AVERAGING})
DISTANCES: dict[str, Callable[[Floats, Floats], Floats]] = {  # of distributions p [C, classes] from counts u [classes]
    "kl": lambda p, u: (p * np.log(np.where(p > 0, p * u.sum() / u, 1))).sum(axis=1),
    "l1": lambda p, u: np.abs(p - u / u.sum()).sum(axis=1),
    "l2": lambda p, u: np.sqrt(((p - u / u.sum()) ** 2).sum(axis=1)),
    "cosine": lambda p, u: 1 - p @ u / np.sqrt((p**2).sum(axis=1) * (u**2).sum()),
}


class FedDisco(Wrapper):
    """FedDisco: less weight for devices whose labels are far from uniform (Ye et al., ICML 2023, eq. 6).

    The weights take the place of those with which `base` averages over participants; FedSSG's paper has it on FedDyn.
    """

    base: Annotated[Algorithm, BASES] = FedAvg()
    a: NonNegativeFloat = 0.5  # how much the distance counts
    b: NonNegativeFloat = 0.1  # what everybody gets besides
    distance: Literal["kl", "l1", "l2", "cosine"] = "kl"
    reference: Literal["uniform", "global", "test"] = "uniform"  # or the labels of all devices, or of the test set

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """As `base` does, with a_k as `disco_weights` has them: w + sum_k a_k delta_k for FedAvg.

        Raises:
            RunError: labels are not known, or devices have some that the reference has not, at an infinite distance.
        """
        if updates.labels is None:
            raise RunError("FedDisco needs to know how many samples of each class devices have")
        run = updates.run
        counts = {"uniform": np.ones(updates.labels.shape[1]), "global": run.labels, "test": run.test_labels}
        distance = discrepancy(updates.labels, np.array(counts[self.reference], dtype=np.float64), self.distance)
        if not np.isfinite(distance).all():
            raise RunError(f"FedDisco: devices have labels that the reference {self.reference} lacks: take another")
        weights = disco_weights(updates.samples, distance, self.a, self.b)
        return self.base.aggregate(server, replace(updates, weights=weights))

    @model_validator(mode="after")
    def _weighs_rounds(self) -> FedDisco:
        """Weights are those of a round's participants."""
        if isinstance(self.base, FedAvg) and self.base.mode == "wait":
            raise fault_at(("base", "mode"), "feddisco weighs the participants of one round: set it to cap")
        return self


def disco_weights(samples: npt.ArrayLike, distance: Floats, a: float, b: float) -> Floats:
    """Proportional to max(0, n_k / sum n - a d_k / sum d + b) [C], with a sum of 1; n_k / sum n where all are 0."""
    shares = np.asarray(samples) / np.sum(samples)
    raw = np.maximum(shares - a * distance / (distance.sum() or 1.0) + b, 0)
    return np.asarray(raw / raw.sum() if raw.any() else shares)


def discrepancy(labels: npt.NDArray[np.int64], reference: Floats, distance: str) -> Floats:
    """Distances [C] of label distributions from that of the reference.

    Args:
        labels: [C, classes] counts.
        reference: [classes] counts.
        distance: kl is Kullback and Leibler's, infinite where the reference has none of a label; l1 and l2 are norms of
            the difference; cosine is 1 minus the cosine of the angle between both.
    """
    p = labels / np.maximum(labels.sum(axis=1, keepdims=True), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(DISTANCES[distance](p, reference))
