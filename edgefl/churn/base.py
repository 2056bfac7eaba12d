"""What churn is: which devices are there at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.catalogue import Member


class Churn(Member):
    """Base of all churn models."""

    def present(self, count: int, time_s: float) -> npt.NDArray[np.int64]:
        """Ids of the devices, of `count` in all, that are there at a time."""
        raise NotImplementedError
