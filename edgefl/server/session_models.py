"""The models that sessions start from, made of the models and moves of ended sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.returns import ANYTHING, Instance, Number, called, check, is_trusted, wrong
from edgefl.learning.initialisation.base import Blend, Initialisation
from edgefl.scenario import RoundKey, Sessions

if TYPE_CHECKING:
    from torch import Tensor

State = dict[str, Any]


class SessionModel(NamedTuple):
    """The last model of a session, or the first of the run."""

    w: Tensor  # [d]
    statistics: Tensor  # [b] its statistics of batch normalisation


@dataclass(eq=False)
class SessionModels:
    """Makes the model that a session starts from, by the scenario's initialisation strategy."""

    sessions: Sessions  # the section `sessions` of the scenario
    initial: Tensor  # [d] the model at the beginning of the run
    statistics: Tensor  # [b] its statistics of batch normalisation
    restarted: Callable[[State, Tensor], State]  # returns a new session's state, from the last one and the model
    tensors: Sequence[slice]  # where the model's weight tensors lie in the flat vector

    def __post_init__(self) -> None:
        self._ended = {0: SessionModel(self.initial, self.statistics)}  # by session; 0: the beginning of the run
        self._moves: dict[
            int, npt.NDArray[np.floating]
        ] = {}  # by session: from the pilot to the model after extra rounds
        self._last_state: State = {}  # the server's state at the end of the last session

    def enter(self, round_key: RoundKey, state: State, statistics: Tensor) -> tuple[State, Tensor]:
        """Return the server's state and statistics at the beginning of a round, from those after the previous round.

        A session with extra rounds begins twice: first from the pilot model, to find the direction that its devices
        move it in (its move), then, before its first ordinary round, from the strategy's model.
        """
        strategy = self.sessions.initialisation
        session = round_key.session
        begins = self.sessions.begins(round_key)
        if session == 1 or (not begins and round_key.round != 1):
            return state, statistics
        if begins:
            self._ended[session - 1] = SessionModel(state["w"], statistics)
            self._last_state = state
        if round_key.extra:
            pilot = self._blended(strategy.pilot_blend())
            return self.restarted(state, pilot.w), pilot.statistics
        if not begins:
            self._moves[session] = (state["w"] - self._blended(strategy.pilot_blend()).w).cpu().numpy()
        blend = called(strategy.start, ANYTHING, session, self._moves, self.tensors)
        self._check(strategy, blend)
        start = self._blended(blend)
        self._forget_all_but({0, session, *strategy.sessions_kept(session, self._moves, self.tensors)})
        last_state = self._last_state
        self._last_state = {}
        if self.sessions.keep_state:
            return {**last_state, "w": start.w}, start.statistics
        if strategy.begins_from_zeros(session):
            last_state = {**last_state, "w": 0.0 * last_state["w"]}
        return self.restarted(last_state, start.w), start.statistics

    def _check(self, strategy: Initialisation, blend: Blend) -> None:
        """Check a blend from outside."""
        if is_trusted(strategy):
            return
        must = f"weights by session, of some of {sorted(self._ended)}"
        check(strategy, "blend", blend, Instance(dict, must))
        if not any(blend.values()):
            raise wrong(strategy, "blend", "no weight", must)
        for session, weight in blend.items():
            if weight and session not in self._ended:
                raise wrong(strategy, "blend", f"a weight of {session!r}", must)
            check(strategy, "blend", weight, Number("finite weights"))

    def _forget_all_but(self, kept: set[int]) -> None:
        """Forget the models and moves of sessions that no later start can need."""
        self._ended = {session: model for session, model in self._ended.items() if session in kept}
        self._moves = {session: move for session, move in self._moves.items() if session in kept}

    def dump(self) -> dict[str, Any]:
        """Return the whole state, for a checkpoint."""
        ended = {session: list(model) for session, model in self._ended.items()}
        return {"ended": ended, "moves": self._moves, "last": self._last_state}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Restore the state that `dump` has returned."""
        self._ended = {session: SessionModel(*model) for session, model in values["ended"].items()}
        self._moves = values["moves"]
        self._last_state = values["last"]

    def _blended(self, blend: Mapping[int, float]) -> SessionModel:
        weighted = [(weight, self._ended[session]) for session, weight in blend.items() if weight]
        if [weight for weight, _ in weighted] == [1.0]:
            return weighted[0][1]  # a single model stays the same, bit by bit
        w = [weight * model.w for weight, model in weighted]
        statistics = [weight * model.statistics for weight, model in weighted]
        return SessionModel(sum(w[1:], w[0]), sum(statistics[1:], statistics[0]))
