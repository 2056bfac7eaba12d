"""Division of the participants' samples in each round, for experiments on drift.

The FedEve paper (Fig. 3b, appendix B.2) separates two kinds of drift in this way. If the data of a round's participants
are pooled and divided evenly among them, only rounds differ: period drift. If devices hold data alike and those of a
round's participants are divided unevenly, only devices differ: client drift.
"""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Ids, Indices, Ints
from edgefl.core.errors import InputError, RunError
from edgefl.core.returns import watching_draws
from edgefl.core.streams import Streams
from edgefl.learning.partitions import Partition
from edgefl.learning.partitions.base import check_parts, dividing_hook


class Redivision:
    """Pools the samples of a round's participants, and divides them among these devices again, by `partition`.

    The labels [n] are classes, or 0 for the numbers of a regression; `parts` [devices] are the samples that devices
    hold.
    """

    def __init__(self, partition: Partition, labels: Ints, parts: Sequence[Indices], streams: Streams) -> None:
        self._partition = partition
        self._labels = labels
        self._parts = parts
        self._streams = streams

    def parts(self, ids: Ids, index: int) -> list[Indices]:
        """Return the training samples of each of the participants `ids` [n], ascending, in round `index`.

        Raises:
            RunError: the pool cannot be divided in this way.
        """
        pool = np.concatenate([self._parts[device] for device in ids.tolist()])
        rng = self._streams.generator("redivision", 0, index)
        try:
            with watching_draws(self._partition, dividing_hook(self._partition)):
                places = self._partition.assign(self._labels[pool], None, len(ids), rng)
        except InputError as error:
            text = f"data.redivide: {len(pool)} samples of {len(ids)} participants cannot be divided: {error}"
            raise RunError(text) from error
        check_parts(self._partition, places, len(ids), len(pool))
        return [pool[part] for part in places]

    def sizes(self, ids: Ids, index: int) -> Ints:
        """Return how many training samples each participant [n] has in the round; arguments as in `parts`."""
        return np.array([len(part) for part in self.parts(ids, index)], dtype=np.int64)
