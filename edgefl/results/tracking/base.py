"""What a tracker is: a sink for the rows of finished rounds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

from edgefl.results.report.describe import flatten
from edgefl.scenario import Scenario

PLACES = ("session", "round")  # a row's, not measured
Row = Mapping[str, Any]

log = logging.getLogger(__name__)


class Tracker:
    """Logs each finished round; its step is its number in the run. A context manager, as what is open must be closed.

    What fails on the way ends the tracking, with a warning, not the run.
    """

    option: ClassVar[str]  # of the command line
    failures: tuple[type[Exception], ...] = (OSError,)

    def __init__(self, scenario: Scenario) -> None:
        self.parameters = dict(flatten(scenario.model_dump(mode="json")))
        self.status = "failed"  # of the run, unless it is told otherwise
        self._step, self._lost = 0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._step:
            self._try(self.close)

    def __call__(self, row: Row) -> None:
        """Log a row; what is no number is left out."""
        self._step += 1
        if self._step == 1:
            self._try(self.open)
        self._try(lambda: self.log(self._step, dict(_numbers(row))))

    def _try(self, act: Callable[[], None]) -> None:
        if self._lost:
            return
        try:
            act()
        except self.failures as error:
            self._lost = True
            log.warning("%s: logs no more from round %d on: %s", self.option, self._step, " ".join(str(error).split()))

    def open(self) -> None:
        """Begin, with the parameters; called when the first round has ended."""
        raise NotImplementedError

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Enter a round's figures."""
        raise NotImplementedError

    def close(self) -> None:
        """Enter how the run has ended; not called where no round has."""
        raise NotImplementedError


def _numbers(row: Row) -> Iterator[tuple[str, float]]:
    for name, value in row.items():
        if name not in PLACES and isinstance(value, int | float):
            yield name, float(value)


def together(*sinks: Callable[[Row], None]) -> Callable[[Row], None]:
    """One sink for rows that hands them to several."""

    def each(row: Row) -> None:
        for sink in sinks:
            sink(row)

    return each
