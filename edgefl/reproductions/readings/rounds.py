"""Readings of rounds: their accuracies, costs and other columns of rounds.csv."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import PositiveFloat, PositiveInt

from edgefl.core.errors import InputError
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.readings.base import (
    LOWER_IS_BETTER,
    STD,
    AccuracyReading,
    Better,
    Fraction,
    Reading,
    Values,
    check_tested,
)
from edgefl.results import metrics


class RoundsTo(Reading):
    """The first round with an accuracy, counted over the whole run; ">N" if none of the N rounds has it."""

    better: ClassVar[Better] = "lower"
    accuracy: Fraction
    model: Literal["test", "sel", "all"] = "test"  # the global model, or one of `report.models`

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        if self.model != "test":
            return self._of_other_model(run.column(f"{self.model}_accuracy"))
        found = metrics.reach(run.curve, self.accuracy)
        if found.reached:
            return {"": found.round}
        return {"": f">{found.round}"}

    def _of_other_model(self, accuracies: Sequence[float | None]) -> Values:
        for number, accuracy in enumerate(accuracies, 1):
            if accuracy is not None and accuracy >= self.accuracy:
                return {"": number}
        return {"": f">{len(accuracies)}"}


class LastMean(AccuracyReading):
    """Mean and standard deviation of the test accuracy over the last tests (FedSSG paper, Table 1: the last 50)."""

    rounds: PositiveInt = 50

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        spread = metrics.last(run.curve, self.rounds)
        check_tested(run)
        return {"": self.unit * spread.mean, STD: self.unit * spread.std}


class Final(AccuracyReading):
    """The last test accuracy."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        check_tested(run)
        return {"": self.unit * run.curve.final}


class Best(AccuracyReading):
    """The highest test accuracy."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        check_tested(run)
        return {"": self.unit * run.curve.best}


class FirstRoundsMean(AccuracyReading):
    """The mean test accuracy over the first rounds of a session (dynamic-devices paper, Table X).

    With `first: 0` the window begins with the last test of the session before, on the classes of that session, as in
    the paper's program.
    """

    session: PositiveInt  # from 1
    first: Literal[0, 1] = 1  # the first round of the window
    rounds: PositiveInt = metrics.INITIAL_ROUNDS

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        check_tested(run)
        curves = {int(curve.session[0]): curve for curve in metrics.sessions(run.curve)}
        for session in range(self.session - 1 + self.first, self.session + 1):
            if session not in curves:
                raise InputError(f"{run.folder}: has no session {session}")
        curve = curves[self.session]
        window = curve.accuracy[curve.round < self.first + self.rounds]
        if self.first == 0:
            window = np.append(curves[self.session - 1].tests[-1:], window)
        return {"": self.unit * float(np.nanmean(window)), STD: self.unit * float(np.nanstd(window))}


class ColumnReading(Reading):
    """Base of readings of one column of rounds.csv; empty cells do not count."""

    column: str
    scale: float = 1.0  # the values are multiplied by it: 1e-3 for kJ of a column in J
    without: str | None = None  # another column, which is subtracted: the round without its evaluation

    @property
    def direction(self) -> Better:
        """See `Reading`: lower losses, distances, times and energies are better."""
        if LOWER_IS_BETTER.search(self.column):
            return "lower"
        return "higher"

    def values(self, run: FinishedRun) -> npt.NDArray[np.float64]:
        """Return the numbers of the column in order; raise `InputError` if there are none."""
        numbers = _numbers(run, self.column)
        if self.without is not None:
            numbers = numbers - _numbers(run, self.without)
        return self.scale * numbers


def _numbers(run: FinishedRun, column: str) -> npt.NDArray[np.float64]:
    """Return the numbers of a column of rounds.csv in order; raise `InputError` if there are none."""
    numbers = [value for value in run.column(column) if isinstance(value, (int, float))]
    if not numbers:
        raise InputError(f"{run.folder}/rounds.csv: the column {column} has no numbers")
    return np.array(numbers, dtype=np.float64)


class ColumnMean(ColumnReading):
    """Mean and standard deviation of a column of rounds.csv, such as duration_s or round_energy_j."""

    last: PositiveInt | None = None  # only its last values

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        values = self.values(run)
        if self.last is not None:
            values = values[-self.last :]
        if len(values) == 1:
            return {"": float(values[0]), STD: None}
        return {"": float(values.mean()), STD: float(values.std(ddof=1))}


class RoundsIn(Reading):
    """The number of rounds that fit into a time if each takes as long as the run's rounds on average."""

    time_s: PositiveFloat

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        mean = ColumnMean(column="duration_s").read(run)
        return {"": self.time_s / float(mean[""] or np.nan)}


class ColumnFinal(ColumnReading):
    """The last value of a column of rounds.csv, such as parameter, distance_to_optimum, train_loss or time_s."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": float(self.values(run)[-1])}


class ColumnAt(ColumnReading):
    """The value of a column of rounds.csv in one round, counted over the whole run."""

    round: PositiveInt

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        values = run.column(self.column)
        if self.round > len(values):
            raise InputError(f"{run.folder}/rounds.csv: has {len(values)} rounds, no round {self.round}")
        value = values[self.round - 1]
        if value is None:
            return {"": None}
        return {"": self.scale * value}


class ColumnCurve(ColumnReading):
    """A column of rounds.csv as a text of numbers, for figures and for measures that compare runs; nan where empty."""

    every: PositiveInt = 1  # keep each nth round, and the last one
    digits: PositiveInt = 6

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        values = run.column(self.column)
        kept = [value for number, value in enumerate(values, 1) if number % self.every == 0 or number == len(values)]
        numbers = [np.nan if value is None or np.isinf(value) else self.scale * value for value in kept]
        return {"": " ".join(f"{number:.{self.digits}g}" for number in numbers)}


class SessionCurve(Reading):
    """A column of the ordinary rounds of a session, as a text of numbers; times, energies since it began."""

    session: PositiveInt  # from 1
    column: Literal["test_accuracy", "time_s", "energy_j"] = "test_accuracy"
    digits: PositiveInt = 6

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        for curve in metrics.sessions(run.curve):
            if curve.session[0] != self.session:
                continue
            of_column = {"test_accuracy": curve.accuracy, "time_s": curve.time_s, "energy_j": curve.energy_j}
            ordinary = of_column[self.column][curve.round >= 1]
            return {"": " ".join(f"{value:.{self.digits}g}" for value in ordinary)}
        raise InputError(f"{run.folder}: has no session {self.session}")
