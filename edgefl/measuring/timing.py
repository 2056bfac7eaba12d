"""Times of steps: a warm-up until they settle, and whether later ones are slower."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

ROUNDS = 5  # repeats of a setting
SETTLED = 0.05  # of a step's time: blocks of the warm-up that get faster by less have settled
LEAST_SLOWDOWN = 0.03  # less is not told


class Repeat(NamedTuple):
    """Some steps in a row."""

    began_s: float  # of the clock
    seconds: float
    steps: int

    @property
    def step_s(self) -> float:
        """The mean time of a step."""
        return self.seconds / self.steps


class Stopwatch(NamedTuple):
    """Times what takes so many steps."""

    take: Callable[[int], object]
    clock: Callable[[], float]

    def timed(self, steps: int) -> Repeat:
        """Return the time of steps in a row."""
        began_s = self.clock()
        self.take(steps)
        return Repeat(began_s, self.clock() - began_s, steps)

    def settled(self, seconds: float) -> Repeat:
        """Return the last block of a warm-up, after which times have settled; it takes little more than `seconds`."""
        block = self.timed(1)
        spent_s = block.seconds
        settled = False
        while not settled and spent_s < seconds:
            last_s = block.step_s
            block = self.timed(2 * block.steps)
            spent_s += block.seconds
            settled = block.step_s > (1 - SETTLED) * last_s and block.seconds > seconds / ROUNDS / 2
        return block


def spread(times_s: Sequence[float]) -> float:
    """Return the range of times over their median."""
    return (max(times_s) - min(times_s)) / median(times_s)


def slowdown(times_s: Sequence[float]) -> float:
    """Return by how much the later half of times is longer than the earlier one; 0 if their spread may explain it."""
    half = len(times_s) // 2
    early = times_s[:half]
    late = times_s[-half:]
    slower = median(late) / median(early) - 1
    return slower if slower > max(LEAST_SLOWDOWN, spread(early), spread(late)) else 0.0
