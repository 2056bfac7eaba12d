"""Trying a way to train: seconds for a step and memory for a client, on the training device."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from edgefl.learning.learner.memory import forget_peak, peak_bytes
from edgefl.learning.learner.plan import Trial

TRIAL_S = 0.3  # a measurement takes about that long, unless a single step takes longer
REPEATS = 3  # at least; the best counts, as other jobs can only slow things down
SLOW_S = 1.0  # from here on a single repeat must do


def attempt(train: Callable[[int], object], width: int, device: str, most_steps: int) -> Trial:
    """Time some training steps.

    Args:
        train: trains `width` clients for a number of steps.
        width: clients at once.
        device: the training device.
        most_steps: as many as clients have in a round; what a round costs besides its steps then has its true share.
    """
    before = forget_peak(device)
    _seconds(train, 1, device)  # the first time allocates memory and chooses library routines
    one_s = _seconds(train, 1, device)
    steps = max(1, min(most_steps, int(TRIAL_S / REPEATS / one_s)))
    repeats = 1 if one_s > SLOW_S else max(REPEATS, int(TRIAL_S / (one_s * steps)))
    best_s = min(_seconds(train, steps, device) for _ in range(repeats))
    return Trial(best_s / (steps * width), (peak_bytes(device) - before) / width)


def _seconds(train: Callable[[int], object], steps: int, device: str) -> float:
    """Of the clock on a GPU; on a CPU, where one thread computes, of that thread: others may want the core, too."""
    on_gpu = device.startswith("cuda")
    clock = time.perf_counter if on_gpu else time.thread_time
    began = clock()
    train(steps)
    if on_gpu:
        torch.cuda.synchronize(device)
    return clock() - began
