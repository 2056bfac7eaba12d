"""Types of arrays that every room shares; shapes stand in brackets in the docstrings that use them."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int64]
"""Numbers of devices, from 0."""
Indices = npt.NDArray[np.int64]
"""Numbers of samples in a dataset, from 0."""
Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
"""Positions in other arrays of the same call."""
Complex = npt.NDArray[np.complex128]
