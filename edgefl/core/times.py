"""The event loop's clock: which times count as equal, and calling a function at a time.

Times are sums of floats: moments that are equal on paper differ in their last digits, so every comparison of times uses
the tolerances below.
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
    """Return how many steps of `step_s` [s] are complete at a time [s]; at a border the step before it counts."""
    return math.floor(time_s / step_s + SAME_STEP)


def steps_begun(time_s: float, step_s: float) -> int:
    """Return the number of the first border of the grid of `step_s` [s] at or after a time [s]."""
    return math.ceil(time_s / step_s - SAME_STEP)


def call_at(env: simpy.Environment, time_s: float, function: Callable[[], None]) -> None:
    """Call a function at a time [s] of the event loop, or as the next event if that time has passed."""
    timeout = env.timeout(max(time_s - env.now, 0.0))
    assert timeout.callbacks is not None  # noqa: S101 - it has not been processed yet
    timeout.callbacks.append(lambda _: function())
