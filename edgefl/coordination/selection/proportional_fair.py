"""Proportional fairness."""

from typing import ClassVar

import numpy as np

from edgefl.coordination.selection.base import Selection, draws, lowest
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class ProportionalFair(Selection):
    """Highest instantaneous over mean SNR first: each device on its own peaks (PF: Yang et al., IEEE TCOM 68(1), 2020).

    Power, noise and the path divide out of that ratio, so it is only the fading, |h|^2 of mean 1. The mean is taken at
    the device's place, not over the rounds before.
    """

    needs_csi: ClassVar[bool] = True  # it compares channels
    needs_fading: ClassVar[bool] = True  # without the fading all ratios are 1

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices with the highest ratios; those whose channel is unknown come first."""
        ratio = np.nan_to_num(view.forecast_of(present).fading, nan=np.inf)
        return lowest(present, -ratio, draws(present, index, streams), participants)
