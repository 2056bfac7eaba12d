"""Trial of whether torch computes gradients in a process that is forked from this one."""

import multiprocessing
import os
import sys
import warnings
from functools import cache

import torch

EXPORTERS = "torch._dynamo"  # imported by torch's exporters and compilers, and not by torch itself


def gradients_survive_fork() -> bool:
    """Return whether torch computes gradients in a process that is forked now.

    A program's first backward pass decides whether torch starts threads for devices besides the CPU, as it does once
    its exporters or compilers have been used. If so, torch refuses backward passes in all processes that are forked
    later.
    """
    if EXPORTERS in sys.modules:
        # The program's first pass may be over or not. Only a trial tells, and its answer may change.
        return _try_gradients_in_fork()
    return _gradients_survive_fork_from_now_on()


@cache
def _gradients_survive_fork_from_now_on() -> bool:
    """Make torch decide now, by a backward pass in this process; return whether forked processes get gradients."""
    _compute_gradient()
    return _try_gradients_in_fork()


def _try_gradients_in_fork() -> bool:
    """Return whether a backward pass works in a process that is forked for it."""
    trial = multiprocessing.get_context("fork").Process(target=_try_gradients)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        trial.start()
    trial.join()
    return trial.exitcode == 0


def _try_gradients() -> None:
    """End this process with 0 if a backward pass works in it, and with 1 if not."""
    code = 0
    try:
        _compute_gradient()
    except RuntimeError:
        code = 1
    os._exit(code)  # without exit handlers, which belong to the parent


def _compute_gradient() -> None:
    x = torch.ones(1, requires_grad=True)
    (x * x).sum().backward()  # type: ignore[no-untyped-call]
