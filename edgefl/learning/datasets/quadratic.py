"""One-dimensional quadratic functions."""

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from edgefl.learning.datasets.base import Data, Dataset

Coefficient = Annotated[float, Field(ge=-1e100, le=1e100)]
Coefficients = Annotated[tuple[Coefficient, Coefficient, Coefficient], Field(strict=False)]


class Quadratic(Dataset):
    """Sample i is the function a x^2 + b x + c; one parameter, exact gradients (sequential-FL paper, section 5.1)."""

    # Coefficients (a, b, c) of each sample.
    coefficients: Annotated[tuple[Coefficients, ...], Field(strict=False, min_length=1)]

    def defaults(self) -> dict[str, Any]:
        """Return one device for each function, and the model that minimises them."""
        return {
            "devices": {"count": len(self.coefficients)},
            "data": {"partition": {"kind": "one_each"}},
            "model": {"kind": "quadratic"},
        }

    def load(self) -> Data:
        """Return rows (a, b, c); the optimum minimises their mean, if it has a minimum."""
        rows = np.array(self.coefficients, dtype=np.float64)
        labels = np.zeros(len(rows), dtype=np.int64)
        a, b, _ = rows.mean(axis=0)
        # The vertex of a parabola; the mean of functions is the function of the mean coefficients.
        optimum = float(-b / (2 * a)) if a > 0 else None
        # The test set is the training set, as the paper looks at the loss at the optimum.
        return Data(rows, labels, rows, labels, classes=0, dtype="float64", optimum=optimum)
