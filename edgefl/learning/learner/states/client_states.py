"""The states that devices keep between their rounds."""

import numpy as np
from torch import Tensor

from edgefl.core.arrays import Ids
from edgefl.learning.algorithms.properties import is_coupled, weighs_by_samples
from edgefl.learning.learner.state_names import LAST_MODEL, OWN_PARAMETERS, OWN_STATISTICS
from edgefl.learning.learner.states.compression import Compression
from edgefl.learning.learner.states.store import StateStore
from edgefl.learning.learner.task import LearningTask


class ClientStates:
    """Keeps the states of all devices: those of the algorithm, and four that edgefl adds.

    These are a device's own parameters (`training.parts.keep`), its batch normalisation (`training.batch_norm: local`),
    its last model (`report.models`) and what the codec has lost of its uploads (error feedback). They begin with the
    initial model [d], with what is `kept` of it [k], and with the statistics [b]; empty if devices do not keep them.
    """

    def __init__(self, task: LearningTask, initial: Tensor, kept: Tensor, statistics: Tensor) -> None:
        self._task = task
        self.initial_state = dict(task.algorithm.client_state(initial))
        # edgefl's states travel and are stored like those of the algorithm
        if len(statistics):
            self.initial_state[OWN_STATISTICS] = statistics
        if len(kept):
            self.initial_state[OWN_PARAMETERS] = kept
        if task.report.models:
            self.initial_state[LAST_MODEL] = initial
        self.store: StateStore | None = None  # most algorithms keep nothing at devices, and then take no memory
        if self.initial_state:
            self.store = StateStore(initial=self.initial_state, clients=len(task.parts), home=task.training.state_home)
        self.compression = Compression(task, initial)

    def restart(self) -> None:
        """Forget the states that belong to the server's state, which begins again.

        If the server keeps no sums of devices' states, devices keep theirs. Their own parameters, batch normalisation
        and last models always stay.
        """
        if not is_coupled(self._task.algorithm):
            return
        if self.store is not None:
            self.store.forget(self.initial_state.keys() - {OWN_PARAMETERS, OWN_STATISTICS, LAST_MODEL})
        if self.compression.lost is not None:
            self.compression.lost.forget(self.compression.lost.names)

    def depart(self, ids: Ids) -> None:
        """Forget the states of the devices `ids`, except for their last models, which the report wants."""
        if self.store is not None:
            self.store.forget(self.initial_state.keys() - {LAST_MODEL}, ids)
        if self.compression.lost is not None:
            self.compression.lost.forget(self.compression.lost.names, ids)

    def share_in_means(self, device: int, mean_size: float) -> dict[str, Tensor]:
        """Return N times what a device's state adds to the server's means, by their names in the server's state.

        The mean number of samples of the N devices is `mean_size`.
        """
        # one device at a time, as the states of all that leave might not fit into the memory
        state = {}
        if self.store is not None:
            kept = self.store.gather(np.array([device]))
            state = {name: vector[0] for name, vector in kept.items()}
        weight = float(self._task.sizes[device] / mean_size)
        return self._task.algorithm.share_in_means(state, weight)

    def own_parts(self, ids: Ids) -> dict[str, Tensor]:
        """Return what devices `ids` [n] have of the model: parameters [n, k], statistics [n, b], as far as they do."""
        if self.store is None:
            return {}
        own = self.store.gather(ids)
        return {name: own[name] for name in (OWN_PARAMETERS, OWN_STATISTICS) if name in own}

    def mean_models(self, ids: Ids, members: Ids) -> dict[str, Tensor]:
        """Return the models [d] of `report.models`: means over devices `ids` ("sel") and over `members` ("all")."""
        wanted = self._task.report.models
        if self.store is None or not wanted:
            return {}
        counts = np.ones(len(self._task.parts), dtype=np.int64)
        if weighs_by_samples(self._task.algorithm) and len(np.unique(self._task.sizes)) > 1:
            counts = self._task.sizes
        means = {}
        if "sel" in wanted and len(ids):
            means["sel"] = self.store.mean(LAST_MODEL, ids, counts[ids])
        if "all" in wanted:
            means["all"] = self.store.mean(LAST_MODEL, members, counts[members])
        return means

    @property
    def home(self) -> str | None:
        """The place where states are kept, see StateStore; None if devices keep nothing."""
        if self.store is None:
            return None
        return self.store.home

    def stores(self) -> dict[str, StateStore]:
        """Return the stores in use, by their names in a snapshot."""
        found = {}
        if self.store is not None:
            found["clients"] = self.store
        if self.compression.lost is not None:
            found["lost"] = self.compression.lost
        return found

    def close(self) -> None:
        """Release memory and files."""
        for store in self.stores().values():
            store.close()
