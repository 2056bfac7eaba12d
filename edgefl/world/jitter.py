"""Random variation of training times from round to round, by whatever else a processor does."""

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams


class Jitter:
    """Lognormal factors with mean 1 and given variation [devices], each a function of (seed, device, round)."""

    def __init__(self, variation: Floats, streams: Streams) -> None:
        self._sigma = np.sqrt(np.log1p(variation**2))
        self._streams = streams

    def factors(self, ids: Ids, index: int) -> Floats:
        """Return the factors [n] of devices [n] in round `index`."""
        sigma = self._sigma[ids]
        drawn = self._streams.normal("computing", ids, index)
        return np.asarray(np.exp(sigma * drawn - sigma**2 / 2))
