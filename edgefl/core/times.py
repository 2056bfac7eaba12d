"""The event loop's clock: which times count as equal, and calling a function at a time.

Times are sums of floats. Two moments that are the same on paper differ in their last digits, so every comparison of
times uses the tolerances below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import simpy

SAME_TIME_S = 1e-9  # times closer than this count as simultaneous
SAME_STEP = 1e-6  # of a step: a time this close to a border of a grid (slots, measurements) lies on it


def steps_completed(time_s: float, step_s: float) -> int:
    """Return how many steps of `step_s` [s] are complete at a time [s]; at a border the step before it is complete."""
    return math.floor(time_s / step_s + SAME_STEP)


def steps_begun(time_s: float, step_s: float) -> int:
    """Return the number of the first border of the grid of `step_s` [s] at or after a time [s]."""
    return math.ceil(time_s / step_s - SAME_STEP)


def call_at(env: simpy.Environment, time_s: float, function: Callable[[], None]) -> None:
    """Call a function at a time [s] of the event loop; at once, as an event of its own, if that time has passed."""
    timeout = env.timeout(max(time_s - env.now, 0.0))
    callbacks = timeout.callbacks
    if callbacks is None:
        raise AssertionError("a timeout that was just made cannot have been processed")
    callbacks.append(lambda _: function())
