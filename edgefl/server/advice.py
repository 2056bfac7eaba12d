"""Advice on how a run could be faster, from what its rounds have taken on this machine."""

from __future__ import annotations

import logging

WORTH_SAYING_S = 60.0  # wall-clock

log = logging.getLogger(__name__)


class FastTransferAdvice:
    """Says once that the fast engine would save more than a minute of the rounds to come.

    Args:
        rounds: of the whole run.
    """

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._first_needless_s = 0.0
        self._said = False

    def end_round(self, ended: int, needless_s: float) -> None:
        """Take in that a round has ended.

        Args:
            ended: how many rounds have.
            needless_s: wall-clock time that the fast engine would have saved in all of them [s].
        """
        if ended == 1:
            self._first_needless_s = needless_s  # compiling and warming up say nothing about the rest
        elif not self._said:
            each_s = (needless_s - self._first_needless_s) / (ended - 1)
            saved_s = each_s * (self._rounds - ended)
            if saved_s > WORTH_SAYING_S:
                self._said = True
                log.warning("radio.transfer: fast would save about %.0f s of the rounds to come", saved_s)
