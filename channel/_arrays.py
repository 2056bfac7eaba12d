"""Types of the arrays that functions of `channel` take and return; shapes stand in brackets in their docstrings."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Complex = NDArray[np.complex128]
Rows = NDArray[np.intp]
"""Positions in other arrays of the same call."""
