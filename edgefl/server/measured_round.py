"""A learned round as measures see it: the global model's state around it, and the learner's answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefl.core.arrays import Ids, Indices
from edgefl.core.returns import Instance, called, is_trusted, kind, wrong
from edgefl.learning.algorithms import Algorithm, Updates
from edgefl.learning.measures import LearnedRound, Measure, ModelOutputs
from edgefl.learning.measures.learned_round import WantedContributions
from edgefl.learning.report_section import ReportSection
from edgefl.records.result_files import ResultFile
from edgefl.scenario import RoundKey

if TYPE_CHECKING:
    from edgefl.learning.learner import Learner
    from edgefl.learning.learner.evaluation import Around

NUMBERS = (int, float, np.integer, np.floating)


@dataclass(frozen=True, kw_only=True)
class MeasuredRound(LearnedRound):
    """See `LearnedRound`; it asks the learner."""

    learner: Learner
    algorithm: Algorithm
    round_key: RoundKey
    tested_classes: tuple[int, ...] | None  # of the test samples that count in this session; None: all
    members: Ids  # ids of the session's devices
    state: Mapping[str, Any]  # the server's state before the round
    next_state: Mapping[str, Any] = field(default_factory=dict)  # that after it; empty before the round has learned
    aggregated: Updates | None = None  # the updates that the next state was made of

    @property
    def session(self) -> int:
        return self.round_key.session

    @property
    def number(self) -> int:
        return self.round_key.round

    @property
    def before(self) -> Any:
        return self.state["w"]

    @property
    def after(self) -> Any:
        return self.next_state["w"]

    @property
    def updates(self) -> Updates | None:
        return self.aggregated

    @property
    def devices(self) -> Indices:
        if self.aggregated is None:
            return np.empty(0, dtype=np.int64)
        return self.learner.members.devices(self.aggregated.ids)

    def tensors(self, vector: Any) -> Mapping[str, Any]:
        return self.learner.views(vector)

    def outputs(self) -> ModelOutputs:
        return self._outputs

    @cached_property
    def _outputs(self) -> ModelOutputs:
        given = self.learner.evaluator.outputs(self.after, self.learner.statistics).one_by_one()
        if self.tested_classes is None:
            return given
        return given.only(np.isin(given.labels, self.tested_classes))

    def outputs_by_device(self) -> Iterator[tuple[int, ModelOutputs]]:
        given, parts = self._own_outputs
        for device in self.members.tolist():
            if len(parts[device]):
                yield device, given.only(parts[device]).one_by_one()

    @cached_property
    def _own_outputs(self) -> tuple[ModelOutputs, Sequence[Indices]]:
        return self.learner.evaluator.own_outputs(self.after, self.learner.statistics)

    def generator(self, purpose: str) -> np.random.Generator:
        return self.learner.task.streams.apart(purpose).generator("measure", self.session, self.number)

    def squared_gradient_norm(self) -> float:
        present = self.next_state or self.state
        return self.learner.evaluator.squared_gradient_norm(present["w"], self.learner.statistics, self.members)

    def losses_around(self) -> list[tuple[int, float, float, float]]:
        rows = []
        for device, _, (received, local, after) in self._around(own=False):
            rows.append((device, received.mean_loss, local.mean_loss, after.mean_loss))
        return rows

    def accuracies_around(self) -> list[tuple[int, int, float, float, float]]:
        rows = []
        for device, samples, (received, local, after) in self._around(own=True):
            rows.append((device, samples, received.accuracy, local.accuracy, after.accuracy))
        return rows

    def _around(self, *, own: bool) -> Sequence[Around]:
        if self.aggregated is None:
            return []
        statistics = self.learner.statistics
        return self.learner.evaluator.around(self.aggregated, self.devices, self.after, statistics, own=own)

    def contributions(self, wanted: WantedContributions) -> list[tuple[int, float]]:
        if self.aggregated is None:
            return []
        players = self.aggregated.ids
        if wanted.players == "all":
            players = self.algorithm.contributors(self.next_state, self.aggregated)
        values = self.learner.contributions(wanted, self.state, self.aggregated, players, self.tested_classes)
        return list(zip(self.learner.members.devices(players).tolist(), values.tolist(), strict=True))


def columns_of(measure: Measure, hook: str, learned: MeasuredRound) -> dict[str, float | None]:
    """Return the columns that a measure adds to a round by one of its methods, `before` or `columns`.

    Raises:
        WrongReturn: a measure from outside has returned something else.
    """
    names = [column.name for column in measure.round_columns]
    must = f"a mapping of {', '.join(names) or 'nothing'} (its round_columns) to numbers or None"
    columns = called(getattr(measure, hook), Instance(Mapping, must), learned)
    if is_trusted(measure):
        return dict(columns)
    for name, value in columns.items():
        if name not in names:
            raise wrong(measure, hook, f"a column {name!r}", must)
        if value is not None and not isinstance(value, NUMBERS):
            raise wrong(measure, hook, f"{kind(value)} for {name}", must)
    return {name: _plain(value) for name, value in columns.items()}


def rows_of(measure: Measure, learned: MeasuredRound) -> list[tuple[Any, ...]]:
    """Return the rows that a measure adds to its table.

    Raises:
        WrongReturn: a measure from outside has returned something else.
    """
    columns = measure.row_columns
    must = f"a list of tuples of {len(columns)} values (its row_columns)"
    rows = called(measure.rows, Instance(Sequence, must), learned)
    if is_trusted(measure):
        return list(rows)
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != len(columns):
            raise wrong(measure, "rows", f"a row {row!r}", must)
        for column, value in zip(columns, row, strict=True):
            if not _suits(value, column.type):
                got = f"{kind(value)} for {column.name}"
                raise wrong(measure, "rows", got, f"{column.type.__name__} or None there")
    return [tuple(_plain(value) for value in row) for row in rows]


def _suits(value: Any, kind: type) -> bool:
    if value is None:
        return True
    if kind is float:
        return isinstance(value, NUMBERS) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    return isinstance(value, kind)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers of NumPy become Python's."""
    if isinstance(value, np.generic):
        return value.item()
    return value


def tables_of(report: ReportSection) -> dict[str, ResultFile]:
    """Return the tables of the measures that a report asks for, by the measures' names."""
    found = {}
    for _, measure in report.asked:
        table = measure.table()
        if table is not None:
            found[measure.name] = table
    return found
