"""Measurement of a plan: seconds for a step and memory for a client, on the training device."""

import time
from collections.abc import Callable

import torch

from edgefl.learning.learner.memory import peak_bytes, reset_peak
from edgefl.learning.learner.plans.plan import Trial

TRIAL_S = 0.3  # a measurement takes about that long, unless a single step takes longer
REPEATS = 3  # least number of measurements, of which the fastest counts
SLOW_S = 1.0  # steps that take longer are timed only once


def attempt(train: Callable[[int], object], width: int, device: str, most_steps: int) -> Trial:
    """Return the time and memory that some training steps of `width` clients take, by `train(steps)`.

    At most `most_steps`, those of a round, are taken, so that the other costs of a round get their share.
    """
    before_bytes = reset_peak(device)
    _seconds(train, 1, device)  # the first call also allocates memory and chooses library routines
    one_s = _seconds(train, 1, device)
    steps = max(1, min(most_steps, int(TRIAL_S / REPEATS / one_s)))
    repeats = 1
    if one_s <= SLOW_S:
        repeats = max(REPEATS, int(TRIAL_S / (one_s * steps)))
    # The least time, not the mean: other processes on the machine can only add to it.
    best_s = min(_seconds(train, steps, device) for _ in range(repeats))
    client_bytes = (peak_bytes(device) - before_bytes) / width
    return Trial(best_s / (steps * width), client_bytes)


def _seconds(train: Callable[[int], object], steps: int, device: str) -> float:
    """Return the seconds that some steps take: of the thread on a CPU, where other processes may want the core, too.

    On a GPU it is wall-clock time, as the thread only waits.
    """
    on_gpu = device.startswith("cuda")
    clock = time.perf_counter if on_gpu else time.thread_time
    began_s = clock()
    train(steps)
    if on_gpu:
        torch.cuda.synchronize(device)  # kernels run on after the calls have returned
    return clock() - began_s
