"""Warnings of a sweep's runs: each kind once, with the run's name and the number of other runs that have it."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from edgefl.core.sample_times import warn_once

log = logging.getLogger(__name__)

_NUMBERS = re.compile(r"\d[\d.,]*(?:e[-+]?\d+)?")


@dataclass
class _Kind:
    place: str  # of the first run that has it
    text: str  # there
    places: set[str] = field(default_factory=set)  # of all runs that have it


class WarningKinds:
    """Warnings by kind: two are of one kind if only numbers differ, and the folders of their runs."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}

    def note(self, place: str, text: str) -> bool:
        """Note a warning of a run, and return whether it is the first of its kind."""
        kind = _NUMBERS.sub("#", text.replace(place, ""))
        is_first = kind not in self._kinds
        noted = self._kinds.setdefault(kind, _Kind(place, text))
        noted.places.add(place)
        return is_first

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind: the first run, the number of others, and the text."""
        for kind in self._kinds.values():
            yield f"{kind.place}{_others(len(kind.places) - 1)}: {kind.text}"

    def show(self, place: str, texts: Sequence[str]) -> None:
        """Note the warnings of a run that has ended, and show those that are the first of their kind."""
        for text in texts:
            if self.note(place, text):
                log.warning("%s: %s", place, text)

    def show_repeated(self) -> None:
        """Show how many other runs have a kind of warning whose first one was shown."""
        for kind in self._kinds.values():
            others = len(kind.places) - 1
            if others:
                log.warning("%s like %s: %s", _many(others), kind.place, kind.text)


def _others(count: int) -> str:
    return f" and {_many(count)}" if count else ""


def _many(count: int) -> str:
    return "1 more run" if count == 1 else f"{count} more runs"


class _Collector(logging.Handler):
    def __init__(self, texts: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        self._texts.append(record.getMessage())


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings of edgefl in this process, which another process shows; handlers of the root skip them."""
    warn_once.cache_clear()  # other runs of this process were others of the sweep
    texts: list[str] = []
    logger = logging.getLogger("edgefl")
    collector = _Collector(texts)
    logger.addHandler(collector)
    handlers = logging.getLogger().handlers[:]
    for handler in handlers:
        handler.addFilter(_is_shown_here)
    try:
        yield texts
    finally:
        logger.removeHandler(collector)
        for handler in handlers:
            handler.removeFilter(_is_shown_here)


def _is_shown_here(record: logging.LogRecord) -> bool:
    return record.levelno < logging.WARNING or record.name.partition(".")[0] != "edgefl"
