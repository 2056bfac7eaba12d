"""Shapley values of devices' updates: each coalition's value is that of the model made only from its updates."""

from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor

from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import Algorithm, Updates
from edgefl.learning.learner.evaluation import Evaluation
from edgefl.learning.learner.shapley import EXACT, Coalition, sampled, shapley
from edgefl.learning.measures.learned_round import WantedContributions

Aggregate = Callable[[Mapping[str, Tensor], Updates], dict[str, Tensor]]  # server state and updates to the next state
Evaluate = Callable[[Tensor], Evaluation]  # the model [d] on the test set


class ContributionGame:
    """The cooperative game of one round: the `players` [n] are devices, a coalition's value is that of its model.

    Rows of `unheard`, those of a device before its first update, replace the stored updates of players outside the
    coalition; if there are none, stored updates count in every coalition.
    """

    def __init__(
        self,
        *,
        section: WantedContributions,
        server: Mapping[str, Tensor],
        updates: Updates,
        players: Ids,
        unheard: Mapping[str, Tensor],
        aggregate: Aggregate,
        evaluate: Evaluate,
    ) -> None:
        self._section = section
        self._server = server
        self._updates = updates
        self._players = players
        self._unheard = unheard
        self._aggregate = aggregate
        self._evaluate = evaluate

    def contributions(self, streams: Streams) -> Floats:
        """Return the Shapley values [n] of the players: exact, or estimated from random orders if there are many."""
        count = len(self._players)
        # each coalition costs an evaluation of the test set, and each additional player doubles their number
        if count <= EXACT:
            return shapley(count, self.value)
        rng = streams.generator("contributions", 0, self._updates.index)
        in_order = np.tile(np.arange(count), (self._section.permutations, 1))
        return sampled(rng.permuted(in_order, axis=1), self.value)

    def value(self, coalition: Coalition) -> float:
        """Return the value of the coalition's model on the test set: the accuracy, or the negative loss."""
        test = self._evaluate(self._model(coalition))
        if self._section.value == "loss" or test.accuracy is None:
            return -test.loss
        return test.accuracy

    def _model(self, coalition: Coalition) -> Tensor:
        if not coalition:  # no update: the model stays as it was
            return self._server["w"]
        members = self._players[list(coalition)]
        state = self._state_without(np.setdiff1d(self._players, members))
        updates = self._updates.only(np.flatnonzero(np.isin(self._updates.ids, members)))
        return self._aggregate(state, updates)["w"]

    def _state_without(self, absent: Ids) -> dict[str, Tensor]:
        """Return the state before the round, as if the server had never received an update of the absent devices."""
        state = dict(self._server)
        for name, row in self._unheard.items():
            state[name] = self._server[name].clone()
            state[name][absent] = row
        return state


def unheard_rows(section: WantedContributions, algorithm: Algorithm, initial: Tensor) -> dict[str, Tensor]:
    """Return the server's rows of a device before its first update, if stored updates count as players' updates."""
    if section.players == "all":
        return algorithm.device_rows(initial)
    return {}
