"""The base class of trackers: sinks for the rows of finished rounds."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from edgefl.core.units import as_number
from edgefl.results.scenario_tree import flatten
from edgefl.scenario import Scenario

ROUND_NAMES = ("session", "round")  # columns that name the round
FinishedRound = Mapping[str, Any]  # a row of rounds.csv

log = logging.getLogger(__name__)


class Tracker:
    """Logs each finished round; the step is the number of the round in the run.

    It is a context manager. An error ends the tracking with a warning, but not the run.
    """

    option: ClassVar[str]  # of the command line
    failures: tuple[type[Exception], ...] = (OSError,)  # that end the tracking; others are bugs

    def __init__(self, scenario: Scenario) -> None:
        self.parameters = dict(flatten(scenario.model_dump(mode="json")))
        self.status = "failed"  # of the run, until `note_status`
        self._step = 0  # rounds so far; those of sessions begin again from 1
        self._has_failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._step:  # a run without finished rounds logs nothing
            self._try(self.close)

    def typed_parameters(self) -> dict[str, str | float]:
        """Return the parameters with numbers as numbers, which trackers sort and plot."""
        numbers = {key: as_number(text) for key, text in self.parameters.items()}
        return self.parameters | {key: number for key, number in numbers.items() if number is not None}

    def note_status(self, status: str) -> None:
        """Note the status of the ended run."""
        self.status = status

    def __call__(self, row: FinishedRound) -> None:
        """Log the numbers of a row."""
        self._step += 1
        if self._step == 1:
            self._try(self.open)
        self._try(lambda: self.log(self._step, _figures(row)))

    def _try(self, act: Callable[[], None]) -> None:
        if self._has_failed:
            return
        try:
            act()
        except self.failures as error:
            self._has_failed = True
            reason = " ".join(str(error).split())
            log.warning("%s: logs no more from round %d on: %s", self.option, self._step, reason)

    def open(self) -> None:
        """Begin with the scenario's parameters; called when the first round has ended."""
        raise NotImplementedError

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Log the numbers of a round, by column."""
        raise NotImplementedError

    def close(self) -> None:
        """Log the status of the run; not called without finished rounds."""
        raise NotImplementedError


def _figures(row: FinishedRound) -> dict[str, float]:
    figures = {}
    for name, value in row.items():
        if name not in ROUND_NAMES and isinstance(value, int | float):
            figures[name] = float(value)
    return figures


def together(*sinks: Callable[[FinishedRound], None]) -> Callable[[FinishedRound], None]:
    """Return a sink that passes rows to several sinks."""

    def each(row: FinishedRound) -> None:
        for sink in sinks:
            sink(row)

    return each
