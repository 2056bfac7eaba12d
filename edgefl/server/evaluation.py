"""Evaluations of models, which run in the background; results enter the ledger in order of their rounds."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from edgefl.core.errors import DivergedError
from edgefl.learning.record import Record
from edgefl.learning.trained_model import TrainedModel
from edgefl.records.ledger import Ledger
from edgefl.scenario import RoundKey, Sessions
from edgefl.server.best_model import BestModel

if TYPE_CHECKING:
    from edgefl.learning.learner import Pending

Evaluations = Mapping[str, "Pending"]  # by the model's name in columns: test (the global model), sel, all
RoundListener = Callable[[Mapping[str, Any]], None]  # called with each finished round's row
TENSORS = "tensors"  # ends the keys of models on record
MOST_UNDER_WAY = 8  # rounds whose evaluations are under way: each holds a model


class ModelTest(NamedTuple):
    """An evaluation of a round's models, in the background or from the record."""

    key: str
    columns: dict[str, Any] | None = None  # the result, if it is on record
    evaluations: Evaluations | None = None  # evaluations in the background, if it is not
    model: Callable[[], TrainedModel] | None = None  # returns the evaluated model, if it is not

    def done(self) -> bool:
        """Return True if `result` would not have to wait."""
        return all(pending.done() for pending in (self.evaluations or {}).values())

    def result(self) -> dict[str, Any]:
        """Wait for the result, and return it as columns of rounds.csv.

        Each model has a loss and an accuracy; the global model may have more metrics.
        """
        columns = dict(self.columns or {})
        for name, pending in (self.evaluations or {}).items():
            test = pending.result()
            columns |= {f"{name}_loss": test.loss, f"{name}_accuracy": test.accuracy}
            if name == "test":
                columns |= test.extra
        return columns


class TestedRound(NamedTuple):
    """A finished round whose evaluation runs in the background."""

    round_key: RoundKey
    number: int  # number of its row in the ledger
    test: ModelTest


NO_TEST = ModelTest("", {})


@dataclass(kw_only=True, eq=False)
class Evaluation:
    """Tells which rounds are evaluated, and enters results as they come."""

    every: int  # number of rounds from one evaluation to the next
    sessions: Sessions
    learning_rates: str  # the keys that set a learning rate, as messages name them
    ledger: Ledger  # records results
    record: Record  # keeps results for a resumed run
    progress: RoundListener  # called with each round's row once its evaluation is finished
    best: BestModel | None  # keeps the best model; None: the report asks for none

    def __post_init__(self) -> None:
        self._several = self.sessions.several
        self._tested: deque[TestedRound] = deque()  # rounds whose evaluation runs in the background

    def is_due(self, round_key: RoundKey, *, last: bool) -> bool:
        """Return whether a round is evaluated; the last one of its session always is, extra ones never."""
        return not round_key.extra and (last or round_key.round % self.every == 0)

    def add(self, tested: TestedRound) -> None:
        """Enter a round's result later; wait for the earliest ones if too many are under way."""
        self._tested.append(tested)
        while len(self._tested) > MOST_UNDER_WAY:
            self._settle_first()

    def settle(self, *, wait: bool) -> None:
        """Enter finished evaluations into the ledger in order of their rounds; if `wait`, wait for all of them."""
        while self._tested and (wait or self._tested[0].test.done()):
            self._settle_first()

    def _settle_first(self) -> None:
        tested = self._tested.popleft()
        self.enter(tested)
        self.progress(self.ledger.row(tested.number))

    def enter(self, tested: TestedRound) -> None:
        """Enter an evaluation into the ledger, and put it on record."""
        columns = tested.test.result()
        loss = columns.get("test_loss")
        if loss is not None and not math.isfinite(loss):
            where = tested.round_key.named(several=self._several)
            raise diverged(where, "its test loss is NaN or infinite", self.learning_rates)
        self._note_best(tested, columns)
        self.ledger.enter_evaluation(tested.number, columns)

    def _note_best(self, tested: TestedRound, columns: Mapping[str, Any]) -> None:
        """Put an evaluation on record; before it the tensors of the best model, so that a resumed run has both."""
        before = None
        if self.best is not None:
            before = self.best.key
            key = f"{tested.test.key.rpartition('/')[0]}/{TENSORS}"
            self.best.note(tested.round_key, key, columns, tested.test.model)
        if tested.test.evaluations:
            self.record.note(tested.test.key, columns)
        if self.best is not None and before is not None and self.best.key != before:
            self.record.drop(before)


def diverged(where: str, how: str, learning_rates: str) -> DivergedError:
    """Return the error that ends a run whose global model has diverged, with the likely cause and the keys to lower."""
    remedy = f"the likely cause is a learning rate that is too high: lower {learning_rates}"
    return DivergedError(f"{where}: the global model diverged ({how})", remedy)
