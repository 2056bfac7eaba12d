"""A barrier: participants wait until each of them has arrived or left."""

from collections.abc import Iterable

import simpy


class Barrier:
    """Releases participants together, once each of them has arrived or left.

    Args:
        env: the clock.
        expected: the participants that the others wait for.
    """

    def __init__(self, env: simpy.Environment, expected: Iterable[int]) -> None:
        self._all_are_here = env.event()
        self._missing = set(expected)
        self._present: set[int] = set()

    @property
    def present(self) -> list[int]:
        """The participants that have arrived and not left, ascending."""
        return sorted(self._present)

    def arrive(self, participant: int) -> simpy.Event:
        """Note that a participant has arrived; return the event that fires when none is missing."""
        self._missing.discard(participant)
        self._present.add(participant)
        self._look()
        return self._all_are_here

    def leave(self, participant: int) -> None:
        """Note that a participant has left, or will not come."""
        self._missing.discard(participant)
        self._present.discard(participant)
        self._look()

    def _look(self) -> None:
        if not self._missing and not self._all_are_here.triggered:
            self._all_are_here.succeed()
