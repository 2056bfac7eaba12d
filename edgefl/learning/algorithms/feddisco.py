"""FedDisco."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeFloat

from edgefl.core.arrays import Floats, Ints
from edgefl.core.errors import RunError
from edgefl.learning.algorithms.base import Updates
from edgefl.learning.algorithms.reweighted import Reweighted


class FedDisco(Reweighted):
    """FedDisco: less weight for devices whose labels are far from uniform (Ye et al., ICML 2023, eq. 6).

    Its weights replace those of `base` in the average over participants. The FedSSG paper compares with FedDisco on
    top of FedDyn.
    """

    a: NonNegativeFloat = 0.5  # Weight of the distance.
    b: NonNegativeFloat = 0.1  # Added to every device's weight.
    distance: Literal["kl", "l1", "l2", "cosine"] = "kl"  # Distance between a device's labels and the reference.
    # The labels that a device's are compared with: uniform ones, those of all devices (global) or of the test set.
    reference: Literal["uniform", "global", "test"] = "uniform"

    @property
    def needs_classes(self) -> bool:
        """True: it weighs devices by their classes."""
        return True

    def new_weights(self, updates: Updates) -> Floats:
        """Return the weights [C] of `disco_weights`.

        Raises:
            RunError: labels are not known, or devices have labels that the reference lacks (an infinite distance).
        """
        if updates.labels is None:
            raise RunError("FedDisco needs to know how many samples of each class devices have")
        reference = self.reference_counts(updates)
        distance = discrepancy(updates.labels, reference, self.distance)
        if not np.isfinite(distance).all():
            text = f"FedDisco: devices have labels that the reference {self.reference} lacks"
            raise RunError(f"{text}: take another reference or distance")
        return disco_weights(updates.samples, distance, self.a, self.b)

    def reference_counts(self, updates: Updates) -> Floats:
        """Return the samples of each class [classes] in the reference distribution."""
        if self.reference == "global":
            return np.array(updates.run.labels, dtype=np.float64)
        if self.reference == "test":
            return np.array(updates.run.test_labels, dtype=np.float64)
        if updates.labels is None:
            return np.ones(0)
        return np.ones(updates.labels.shape[1])


def disco_weights(samples: npt.ArrayLike, distance: Floats, a: float, b: float) -> Floats:
    """Return weights [C] in proportion to `max(0, n_k / sum n - a d_k / sum d + b)`; if all are 0, `n_k / sum n`.

    The n_k are numbers of `samples` [C], the d_k distances [C] of devices' labels from the reference.
    """
    shares = np.asarray(samples) / np.sum(samples)
    # Without any distance every term is 0: dividing by 1 keeps it 0.
    relative_distance = a * distance / (distance.sum() or 1.0)
    raw = np.maximum(shares - relative_distance + b, 0)
    if not raw.any():
        return np.asarray(shares)
    return np.asarray(raw / raw.sum())


def discrepancy(labels: Ints, reference: Floats, distance: str) -> Floats:
    """Return the distances [C] of label distributions, as counts [C, classes], from the `reference` [classes].

    Of the distances kl is Kullback and Leibler's, infinite where the reference lacks a label; l1 and l2 are norms of
    the difference; cosine is 1 minus the cosine of the angle between the distributions.
    """
    p = labels / np.maximum(labels.sum(axis=1, keepdims=True), 1)
    # A label that the reference lacks divides by 0: the caller looks for infinite distances.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(DISTANCES[distance](p, reference))


def kullback_leibler(p: Floats, u: Floats) -> Floats:
    """Return `sum_c p_c log(p_c / u_c)` [C] for distributions p [C, classes] and counts u [classes]."""
    ratio = p * u.sum() / u
    terms = p * np.log(np.where(p > 0, ratio, 1))  # 0 log 0 is 0
    return np.asarray(terms.sum(axis=1))


def l1(p: Floats, u: Floats) -> Floats:
    """Return `sum_c |p_c - u_c|` [C]."""
    return np.asarray(np.abs(p - u / u.sum()).sum(axis=1))


def l2(p: Floats, u: Floats) -> Floats:
    """Return `sqrt(sum_c (p_c - u_c)^2)` [C]."""
    return np.asarray(np.sqrt(((p - u / u.sum()) ** 2).sum(axis=1)))


def cosine(p: Floats, u: Floats) -> Floats:
    """Return 1 minus the cosine of the angle between p and u [C]."""
    return np.asarray(1 - p @ u / np.sqrt((p**2).sum(axis=1) * (u**2).sum()))


DISTANCES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "kl": kullback_leibler,
    "l1": l1,
    "l2": l2,
    "cosine": cosine,
}
