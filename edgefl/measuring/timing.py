"""Times of steps: a warm-up until they settle, then repeats, and whether the later ones are slower."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

ROUNDS = 5  # repeats of a setting
SETTLED = 0.05  # of a step's time: blocks of the warm-up that get faster by less have settled
LEAST_SLOWDOWN = 0.03  # less is not told

Run = Callable[[int], object]
"""Takes so many steps, and returns when the last one has ended."""

Clock = Callable[[], float]


class Repeat(NamedTuple):
    """Some steps in a row."""

    began_s: float  # of the clock
    seconds: float
    steps: int

    @property
    def step_s(self) -> float:
        """The mean time of a step."""
        return self.seconds / self.steps


def repeats(run: Run, seconds: float, clock: Clock = time.perf_counter) -> list[Repeat]:
    """Return repeats that take at least `seconds` together, after a warm-up."""
    steps = math.ceil(seconds / ROUNDS / _settled_step_s(run, seconds, clock))
    return [_timed(run, steps, clock) for _ in range(ROUNDS)]


def _settled_step_s(run: Run, seconds: float, clock: Clock) -> float:
    """Return the time of a step after a warm-up, which takes little more than `seconds`."""
    began_s = clock()
    last_s = math.inf
    steps = 1
    while True:
        block = _timed(run, steps, clock)
        settled = block.step_s > (1 - SETTLED) * last_s and block.seconds > seconds / ROUNDS / 2
        if settled or clock() - began_s > seconds:
            return block.step_s
        last_s = block.step_s
        steps *= 2


def _timed(run: Run, steps: int, clock: Clock) -> Repeat:
    began_s = clock()
    run(steps)
    return Repeat(began_s, clock() - began_s, steps)


def spread(times_s: Sequence[float]) -> float:
    """Return the range of times over their median."""
    return (max(times_s) - min(times_s)) / statistics.median(times_s)


def slowdown(times_s: Sequence[float]) -> float:
    """Return by how much the later half of times is longer than the earlier one; 0 if their spread may explain it."""
    half = len(times_s) // 2
    early = times_s[:half]
    late = times_s[-half:]
    slower = statistics.median(late) / statistics.median(early) - 1
    if slower <= max(LEAST_SLOWDOWN, spread(early), spread(late)):
        return 0.0
    return slower
