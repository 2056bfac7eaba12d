"""Sessions: which devices are there in one, and which model it starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Ids
from edgefl.core.errors import InputError
from edgefl.scenario import RoundKey, Scenario, Sessions

if TYPE_CHECKING:
    from torch import Tensor

State = dict[str, Any]


def following(sessions: Sessions, rounds: Sequence[Mapping[str, Any]]) -> RoundKey:
    """The round_key of the round that follows those that have ended, rows of rounds.csv."""
    if not rounds:
        return sessions.first(1)
    round_key = RoundKey(rounds[-1]["session"], rounds[-1]["round"])
    return sessions.after(round_key, changed=_changed(sessions, round_key, rounds))


def _changed(sessions: Sessions, round_key: RoundKey, rounds: Sequence[Mapping[str, Any]]) -> bool:
    """Whether arrivals begin a session; not before the last one has had a round, nor without room for one."""
    needed = 2 - sessions.first(round_key.session + 1).round  # its extra rounds, and one
    if sessions.trigger is None or round_key.extra or sessions.total - len(rounds) < needed:
        return False
    rows = list(takewhile(lambda row: row["session"] == round_key.session, reversed(rounds)))
    return sessions.trigger.fires(sum(row["arrivals"] for row in rows), rows[-1]["present"])


class Groups:
    """Groups of devices that take turns: in each session one of them is there, in order.

    Args:
        group: [devices] to which each belongs, from 0.
        first: the group of the first session.
        labels: [groups] the classes of which each has samples; None where they are all that there are.
    """

    def __init__(self, group: Ids, first: int, labels: Sequence[tuple[int, ...] | None]) -> None:
        self._group, self._first, self._labels = group, first, labels

    @classmethod
    def of(cls, scenario: Scenario, train_y: Ids, test_y: Ids, parts: Sequence[Ids], classes: int) -> Groups:
        """Those of a scenario: devices in groups of consecutive ids, as equal as can be; one group without sessions.

        Args:
            scenario: says how many.
            train_y: [n] classes of the training samples.
            test_y: [m] those of the test samples.
            parts: [devices] which training samples each device holds.
            classes: in the data; 0 without labels.

        Raises:
            InputError: no test sample is of a class that a group has.
        """
        devices, count = len(parts), scenario.groups
        if count == 1:
            return cls(np.zeros(devices, dtype=np.int64), 0, [None])
        edges = np.arange(1, count) * devices // count
        group = np.searchsorted(edges, np.arange(devices), side="right")
        sets = []
        for each in range(count):
            members = np.flatnonzero(group == each).tolist()
            held = np.unique(train_y[np.concatenate([parts[device] for device in members])])
            sets.append(None if not classes or len(held) == classes else tuple(held.tolist()))
            if sets[-1] and not np.isin(test_y, held).any():
                raise InputError(f"sessions.groups: no test sample is of a class that group {each + 1} has")
        return cls(group, scenario.in_sessions.first_group - 1, sets)

    def _turn(self, session: int) -> int:
        return (self._first + session - 1) % len(self._labels)

    def there(self, session: int) -> npt.NDArray[np.bool_]:
        """Whether each device [devices] is there in a session."""
        return np.asarray(self._group == self._turn(session))

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self._labels) > 1

    def labels(self, session: int) -> tuple[int, ...] | None:
        """The classes on which the model of a session is tested; None for all."""
        return self._labels[self._turn(session)]


class _Ended(NamedTuple):
    """What a session leaves, or the run's beginning."""

    w: Tensor  # [d]
    statistics: Tensor  # [b] of batch normalisation


class SessionModels:
    """The models that sessions start from, as the scenario's strategy has them.

    Args:
        sessions: the scenario's section.
        initial: [d] the model at the run's beginning.
        statistics: [b] its batch normalisation's.
        fresh: makes the server's state where a session begins, from what the last one has left and the model.
        tensors: where the model's weight tensors lie in a vector.
    """

    def __init__(
        self,
        sessions: Sessions,
        initial: Tensor,
        statistics: Tensor,
        fresh: Callable[[State, Tensor], State],
        tensors: Sequence[slice],
    ) -> None:
        self._sessions, self._fresh, self._tensors = sessions, fresh, tensors
        self._ended = {0: _Ended(initial, statistics)}  # by session, as what follows
        self._moves: dict[int, npt.NDArray[np.floating]] = {}
        self._last: State = {}  # the server's, at the end of the last session

    def enter(self, round_key: RoundKey, state: State, statistics: Tensor) -> tuple[State, Tensor]:
        """The server's state and the statistics with which a round begins, from those that the last one left."""
        strategy, sessions, session = self._sessions.initialisation, self._sessions, round_key.session
        if session == 1 or (not sessions.begins(round_key) and round_key.round != 1):
            return state, statistics
        if sessions.begins(round_key):
            self._ended[session - 1], self._last = _Ended(state["w"], statistics), state
            if round_key.extra:
                pilot = self._blended(strategy.pilot_blend())
                return self._fresh(state, pilot.w), pilot.statistics
        else:
            self._moves[session] = (state["w"] - self._blended(strategy.pilot_blend()).w).cpu().numpy()
        start = self._blended(strategy.start(session, self._moves, self._tensors))
        kept = {0, session, *strategy.kept(session, self._moves, self._tensors)}
        self._ended = {number: ended for number, ended in self._ended.items() if number in kept}
        self._moves = {number: move for number, move in self._moves.items() if number in kept}
        last, self._last = self._last, {}
        return {**last, "w": start.w} if sessions.keep_state else self._fresh(last, start.w), start.statistics

    def dump(self) -> dict[str, Any]:
        """What it remembers."""
        ended = {number: list(one) for number, one in self._ended.items()}
        return {"ended": ended, "moves": self._moves, "last": self._last}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Take back what `dump` has told."""
        self._ended = {number: _Ended(*one) for number, one in values["ended"].items()}
        self._moves, self._last = values["moves"], values["last"]

    def _blended(self, blend: Mapping[int, float]) -> _Ended:
        """The weighted sum of models; a single one is itself."""
        weighed = [(weight, self._ended[session]) for session, weight in blend.items() if weight]
        if [weight for weight, _ in weighed] == [1.0]:
            return weighed[0][1]
        w, statistics = zip(*((weight * one.w, weight * one.statistics) for weight, one in weighed), strict=True)
        return _Ended(sum(w[1:], w[0]), sum(statistics[1:], statistics[0]))
