"""The devices with the strongest channels."""

from typing import ClassVar

import numpy as np

from edgefl.coordination.selection.base import Selection, draws, lowest
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class BestChannel(Selection):
    """Strongest channel gain first, as `server.csi` knows it (BC: Amiri et al., IEEE TWC 20(6), 2021)."""

    needs_csi: ClassVar[bool] = True  # it compares channels

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices with the strongest channels; those whose channel is unknown come first."""
        forecast = view.forecast_of(present)
        gain = np.nan_to_num(forecast.path_gain * forecast.fading, nan=np.inf)
        return lowest(present, -gain, draws(present, index, streams), participants)
