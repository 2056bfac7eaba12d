"""Trial of whether torch computes gradients in a process that is forked from this one."""

import multiprocessing
import os
import sys
import threading
import warnings
from functools import cache

import torch

EXPORTERS = "torch._dynamo"  # imported by torch's exporters and compilers, and not by torch itself
OWN_THREADS = "edgefl-"  # how the names of edgefl's threads begin; they hold no lock while another one forks
TRIAL_S = 10.0  # after which the trial's process counts as stuck: it takes a hundredth of a second


def gradients_survive_fork() -> bool:
    """Return whether torch computes gradients in a process that is forked now.

    A program's first backward pass decides whether torch starts threads for devices besides the CPU, as it does once
    its exporters or compilers have been used, or a GPU. If so, torch refuses backward passes in all processes that are
    forked later. CUDA itself does not survive a fork either.
    """
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return False
    if EXPORTERS not in sys.modules:
        _decide_now()
        if not _has_foreign_threads():
            return _survived_fork()
    # The program's first pass may be over or not, and another thread may hold a lock at the moment of a fork. Only a
    # trial tells, and its answer may change.
    return _try_gradients_in_fork()


@cache
def _decide_now() -> None:
    """Make torch decide by a backward pass in this process, if there was none before."""
    _compute_gradient()


@cache
def _survived_fork() -> bool:
    return _try_gradients_in_fork()


def _has_foreign_threads() -> bool:
    known = {threading.main_thread(), threading.current_thread()}
    return any(thread not in known and not thread.name.startswith(OWN_THREADS) for thread in threading.enumerate())


def _try_gradients_in_fork() -> bool:
    """Return whether a backward pass works in a process that is forked for it, and ends in time."""
    trial = multiprocessing.get_context("fork").Process(target=_try_gradients)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        trial.start()
    trial.join(TRIAL_S)
    if trial.exitcode is None:  # it waits for a lock that a thread held at the fork, and that stays locked there
        trial.kill()
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
