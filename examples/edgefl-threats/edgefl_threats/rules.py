"""Rules that resist a number of attackers; their results equal those of `flwr.server.strategy.aggregate` bit by bit."""

from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor

from edgefl.learning.algorithms import Updates
from edgefl_threats.combined import Combined, Vectors

# Type hints of NumPy arrays: Vectors [C, d] are the updates of C devices.


def squared_distances(vectors: Vectors) -> Vectors:
    """Return the squared distances [C, C] between vectors [C, d]."""
    distances = np.zeros((len(vectors), len(vectors)))
    for i, vector in enumerate(vectors):
        for j in range(i):
            distances[i, j] = np.linalg.norm(vector - vectors[j]) ** 2
    return distances + distances.T


def krum_scores(distances: Vectors, malicious: int) -> Vectors:
    """Return each vector's sum [C] of squared distances to its C - f - 2 closest ones (Blanchard et al., 2017)."""
    closest = max(1, len(distances) - malicious - 2)
    return np.array([np.sort(row)[1 : closest + 1].sum() for row in distances])


def multi_krum(vectors: Vectors, malicious: int, keep: int, weights: Vectors) -> Vectors:
    """Return the mean [d], by weights [C], of the `keep` vectors with the lowest scores."""
    scores = krum_scores(squared_distances(vectors), malicious)
    best = np.argsort(scores)[::-1][len(scores) - keep :]
    weighted = [vectors[i] * int(weights[i]) for i in best]
    return reduce(np.add, weighted) / int(weights[best].sum())


def trimmed_mean(vectors: Vectors, cut: int) -> Vectors:
    """Return the mean [d] of each coordinate without its `cut` lowest and highest values (Yin et al., ICML 2018)."""
    count = len(vectors)
    ordered = np.partition(vectors, (cut, count - cut - 1), axis=0)
    return ordered[cut : count - cut].mean(axis=0)


def bulyan(vectors: Vectors, malicious: int) -> Vectors:
    """Return Bulyan's vector [d]: Krum chooses C - 2 f vectors one by one, and each coordinate trims these.

    A coordinate is the mean of the C - 4 f values that are closest to their median (El Mhamdi et al., ICML 2018,
    section 4).
    """
    distances = squared_distances(vectors)
    left = list(range(len(vectors)))
    chosen = []
    for _ in range(len(vectors) - 2 * malicious):
        scores = krum_scores(distances[np.ix_(left, left)], malicious)
        chosen.append(left.pop(int(np.argmin(scores))))
    kept = len(chosen) - 2 * malicious
    selected = vectors[chosen]
    distance = np.abs(np.median(selected, axis=0) - selected)
    order = np.argpartition(distance, kth=kept - 1, axis=0)
    return np.take_along_axis(selected, order, axis=0)[:kept].mean(axis=0)


class Rule(Combined):
    """Base of the rules: how many attackers a rule tolerates among the updates of a round."""

    def tolerated(self, count: int) -> int:
        """Return how many attackers the rule tolerates among `count` updates."""
        raise NotImplementedError

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return the base's columns, and how many attackers the rule has tolerated in this round."""
        return {**self.base.trace(server, updates), "tolerated": float(self.tolerated(len(updates.ids)))}


class Krum(Rule):
    """Krum: the update that is closest to its C - f - 2 nearest ones (Blanchard et al., NeurIPS 2017).

    It needs 2 f + 3 updates. In a round with fewer it tolerates as many attackers as these allow.
    """

    malicious: NonNegativeInt = 1  # Number of attackers among a round's updates, f.

    def tolerated(self, count: int) -> int:
        """Return f, or (C - 3) / 2 if that is less."""
        return max(0, min(self.malicious, (count - 3) // 2))

    def combine(self, vectors: Vectors, updates: Updates) -> Vectors:
        """Return the vector with the lowest score."""
        scores = krum_scores(squared_distances(vectors), self.tolerated(len(vectors)))
        return vectors[np.argmin(scores)]


class MultiKrum(Krum):
    """Multi-Krum: the mean of the updates with the lowest scores of Krum (Blanchard et al., NeurIPS 2017)."""

    keep: PositiveInt = 5  # How many updates are averaged, m.
    weighting: Literal["samples", "uniform"] = "samples"  # Weights in that mean, by samples as in Flower, or equal.

    def combine(self, vectors: Vectors, updates: Updates) -> Vectors:
        """Return the mean of the `keep` best vectors."""
        weights = np.asarray(updates.samples)
        if self.weighting == "uniform":
            weights = np.ones_like(weights)
        return multi_krum(vectors, self.tolerated(len(vectors)), min(self.keep, len(vectors)), weights)


class Median(Rule):
    """The median of each coordinate over the updates (Yin et al., ICML 2018)."""

    def tolerated(self, count: int) -> int:
        """Return the most that are fewer than half."""
        return (count - 1) // 2

    def combine(self, vectors: Vectors, updates: Updates) -> Vectors:
        """Return the median."""
        return np.median(vectors, axis=0)


class TrimmedMean(Rule):
    """The mean of each coordinate without its lowest and highest values (Yin et al., ICML 2018)."""

    cut: Annotated[float, Field(ge=0, lt=0.5)] = 0.2  # Share of the values that is left out at each end, beta.

    def tolerated(self, count: int) -> int:
        """Return how many values are left out at each end."""
        return int(self.cut * count)

    def combine(self, vectors: Vectors, updates: Updates) -> Vectors:
        """Return the trimmed mean."""
        return trimmed_mean(vectors, self.tolerated(len(vectors)))


class Bulyan(Krum):
    """Bulyan: Krum chooses updates one by one, and each coordinate trims them (El Mhamdi et al., ICML 2018).

    It needs 4 f + 3 updates. In a round with fewer it tolerates as many attackers as these allow.
    """

    def tolerated(self, count: int) -> int:
        """Return f, or (C - 3) / 4 if that is less."""
        return max(0, min(self.malicious, (count - 3) // 4))

    def combine(self, vectors: Vectors, updates: Updates) -> Vectors:
        """Return Bulyan's vector."""
        return bulyan(vectors, self.tolerated(len(vectors)))
