"""Servers at the base stations: each learns from its own cell, and from time to time a cloud averages their models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgefl.core.arrays import Ints
from edgefl.learning.algorithms import Updates

if TYPE_CHECKING:
    from torch import Tensor

    Aggregate = Callable[[Mapping[str, Tensor], Updates], Mapping[str, Tensor]]


@dataclass(frozen=True)
class EdgeModels:
    """What the edge servers have (HierFAVG: Liu et al., ICC 2020, algorithm 1)."""

    models: Tensor  # [cells, d]
    statistics: Tensor  # [cells, b] of batch normalisation
    samples: Ints  # [cells] of the updates that each has received since the cloud's last average

    @classmethod
    def alike(cls, w: Tensor, statistics: Tensor, cells: int) -> EdgeModels:
        """All have the model w [d] with its statistics [b], and have received nothing."""
        return cls(w.repeat(cells, 1), statistics.repeat(cells, 1), np.zeros(cells, dtype=np.int64))

    def learn(self, updates: Updates, cell: Ints, aggregate: Aggregate) -> EdgeModels:
        """Each edge's next model, from the updates [C] of its own `cell` [C]; who has received none keeps its own."""
        models, statistics, samples = self.models.clone(), self.statistics.clone(), self.samples.copy()
        for edge in np.unique(cell).tolist():
            own = updates.only(np.flatnonzero(cell == edge))
            models[edge] = aggregate({"w": self.models[edge]}, own)["w"]
            if own.statistics is not None:
                statistics[edge] = own.statistics.new_tensor(own.samples / own.samples.sum()) @ own.statistics
            samples[edge] += own.samples.sum()
        return EdgeModels(models, statistics, samples)

    def mean(self) -> tuple[Tensor, Tensor]:
        """The cloud's model [d] and statistics [b]: means over edges by the samples since the last time.

        Without any samples no edge has moved since then, so all are alike.
        """
        if not self.samples.any():
            return self.models[0], self.statistics[0]
        return _mean(self.models, self.samples), _mean(self.statistics, self.samples)

    def merged(self) -> EdgeModels:
        """All have the cloud's model."""
        return EdgeModels.alike(*self.mean(), len(self.samples))


def _mean(rows: Tensor, samples: Ints) -> Tensor:
    """The mean [k] of rows [n, k] by samples [n]; row by row, so that the number of threads leaves no trace."""
    mean = 0.0 * rows[0]
    for share, row in zip((samples / samples.sum()).tolist(), rows, strict=True):
        mean += share * row
    return mean
