"""Advice on how a run could be faster, from the wall-clock time of its rounds on this machine."""

from __future__ import annotations

import logging

WORTH_SAYING_S = 60.0  # least wall-clock time saved for which the advice is given

log = logging.getLogger(__name__)


class FastTransferAdvice:
    """Logs once that the fast engine would save more than a minute of the remaining rounds.

    Args:
        rounds: number of rounds of the whole run.
    """

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._first_needless_s = 0.0
        self._said = False

    def end_round(self, ended: int, needless_s: float) -> None:
        """Note that a round has ended, and give the advice if it is worth it.

        Args:
            ended: number of rounds that have ended.
            needless_s: wall-clock time that the fast engine would have saved in all of them [s].
        """
        if ended == 1:
            # The first round also compiles and warms up, so it says nothing about the others.
            self._first_needless_s = needless_s
        elif not self._said:
            per_round_s = (needless_s - self._first_needless_s) / (ended - 1)
            saved_s = per_round_s * (self._rounds - ended)
            if saved_s > WORTH_SAYING_S:
                self._said = True
                log.warning("radio.transfer: fast would save about %.0f s of the rounds to come", saved_s)
