"""Models at the base stations: each learns from its own cell, and a cloud averages them from time to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgefl.core.arrays import Ints
from edgefl.learning.algorithms import Updates
from edgefl.learning.algorithms.base import unless_alike

if TYPE_CHECKING:
    from torch import Tensor

    Aggregate = Callable[[Mapping[str, Tensor], Updates], Mapping[str, Tensor]]


@dataclass(frozen=True)
class EdgeModels:
    """The models of all base stations (HierFAVG: Liu et al., ICC 2020, algorithm 1)."""

    models: Tensor  # [cells, d]
    statistics: Tensor  # [cells, b] statistics of batch normalisation
    samples: Ints  # [cells] samples behind the updates that each has received since the cloud's last average

    @classmethod
    def alike(cls, w: Tensor, statistics: Tensor, cells: int) -> EdgeModels:
        """Return base stations that all have the model w [d] with its statistics [b], and have received nothing."""
        return cls(w.repeat(cells, 1), statistics.repeat(cells, 1), np.zeros(cells, dtype=np.int64))

    def learn(self, updates: Updates, cell: Ints, aggregate: Aggregate) -> EdgeModels:
        """Return the next models, given the `cell` [C] of each update; a model without updates stays."""
        models = self.models.clone()
        statistics = self.statistics.clone()
        samples = self.samples.copy()
        for station in np.unique(cell).tolist():
            own = updates.only(np.flatnonzero(cell == station))
            # The server's state is only the model: algorithms that keep more are refused (`is_divisible`).
            models[station] = aggregate({"w": self.models[station]}, own)["w"]

            if own.statistics is not None:
                statistics[station] = own.mean_statistics()
            samples[station] += own.samples.sum()
        return EdgeModels(models, statistics, samples)

    def mean(self) -> tuple[Tensor, Tensor]:
        """Return the cloud's model [d] and statistics [b]: means over base stations, weighted by `samples`."""
        if not self.samples.any():  # no model has moved since the last average, so all are the same
            return self.models[0], self.statistics[0]
        statistics = unless_alike(_mean(self.statistics, self.samples), self.statistics)
        return _mean(self.models, self.samples), statistics

    def merged(self) -> EdgeModels:
        """Return base stations that all have the cloud's model."""
        model, statistics = self.mean()
        return EdgeModels.alike(model, statistics, len(self.samples))


def _mean(rows: Tensor, samples: Ints) -> Tensor:
    """Return the mean [k] of rows [n, k], weighted by samples [n]."""
    # Row by row: a matrix product would round differently for each number of threads.
    mean = 0.0 * rows[0]
    for share, row in zip((samples / samples.sum()).tolist(), rows, strict=True):
        mean += share * row
    return mean
