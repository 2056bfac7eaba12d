"""Fits and statistics that all parts of a calibration share."""

import math
from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats

NEGLIGIBLE = 1e-12  # part of the largest term of a fit; less is rounding


def relative_fit(features: Floats, measured: Floats) -> Floats:
    """Return the coefficients [k] from 0 of least relative squared residuals, for features [n, k] and numbers [n]."""
    from scipy.optimize import nnls

    relative = features / measured[:, None]
    # Coefficients differ by many orders of magnitude, so the columns are scaled.
    scale = np.linalg.norm(relative, axis=0)
    scale[scale == 0] = 1.0
    scaled, _ = nnls(relative / scale, np.ones(len(measured)))
    # On some processors a coefficient that should be 0 comes out as rounding.
    scaled[scaled < NEGLIGIBLE * scaled.max()] = 0.0
    return np.asarray(scaled / scale)


def variation(repeats: Sequence[Sequence[float]]) -> float | None:
    """Return the coefficient of variation, pooled over groups of repeats; None where nothing was repeated."""
    squares = 0.0
    degrees = 0
    for numbers in repeats:
        squares += float(((np.array(numbers) / np.mean(numbers) - 1) ** 2).sum())
        degrees += len(numbers) - 1
    if degrees == 0:
        return None
    return math.sqrt(squares / degrees)
