"""Time two calls in turn, for the benchmarks that compare ours with theirs on one core."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

Call = Callable[[], object]


class Turns(NamedTuple):
    """The least processor time of each call, and the median ratio of turns side by side."""

    ours_s: float
    theirs_s: float
    ratio: float  # theirs over ours


def seconds(call: Call, calls: int) -> float:
    """Return the processor time of a call."""
    began_s = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - began_s) / calls


def in_turn(ours: Call, theirs: Call, calls: int, repeats: int) -> Turns:
    """Time both in turn, `calls` times each, so that a slow moment of the machine slows both."""
    ours_s = []
    theirs_s = []
    ratios = []
    for _ in range(repeats):
        ours_s.append(seconds(ours, calls))
        theirs_s.append(seconds(theirs, calls))
        ratios.append(theirs_s[-1] / ours_s[-1])
    return Turns(min(ours_s), min(theirs_s), statistics.median(ratios))
