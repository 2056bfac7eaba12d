"""No churn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.churn.base import Churn


class NoChurn(Churn):
    """Everybody is there all the time."""

    def present(self, count: int, time_s: float) -> npt.NDArray[np.int64]:
        """All of them."""
        return np.arange(count, dtype=np.int64)
