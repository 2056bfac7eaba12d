"""Advice on how a run could be faster, from the wall-clock time of its rounds on this machine."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from edgefl.server.observer import Observer

WORTH_SAYING_S = 60.0  # least wall-clock time saved that is worth the advice

log = logging.getLogger(__name__)


@dataclass(eq=False)
class FastTransferAdvice(Observer):
    """Logs once that the fast engine would save more than a minute of the remaining rounds."""

    rounds: int  # number of rounds of the whole run; 0 if the scenario does not say
    needless_s: Callable[[], float]  # returns the wall-clock time that the fast engine would have saved so far [s]

    def __post_init__(self) -> None:
        self._first_needless_s = 0.0
        self._said = False

    def round_recorded(self, number: int) -> None:
        """Give the advice after a round if it is worth it."""
        needless_s = self.needless_s()
        if number == 1:
            # The first round also compiles and warms up, so it says nothing about the others.
            self._first_needless_s = needless_s
        elif not self._said:
            per_round_s = (needless_s - self._first_needless_s) / (number - 1)
            saved_s = per_round_s * (self.rounds - number)
            if saved_s > WORTH_SAYING_S:
                self._said = True
                log.warning("radio.transfer: fast would save about %.0f s of the rounds to come", saved_s)
