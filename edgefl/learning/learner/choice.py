"""Which plan a learner trains by: the one that the scenario asks for, or the fastest of those that would do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Literal

import torch
from torch import nn

from edgefl.core.errors import InputError, RunError
from edgefl.learning.learner.memory import budget
from edgefl.learning.learner.plan import (
    SERIAL,
    CannotBatchError,
    Plan,
    Trial,
    candidates,
    fastest,
    processor,
    remembered,
)
from edgefl.learning.training_section import Training


def chosen(
    training: Training,
    device: torch.device,
    attempt: Callable[[Plan], Trial],
    key: Mapping[str, str],
    *,
    by_hand: bool,
    workers: int,
) -> Plan:
    """The plan, measured where this machine has not measured it before.

    Args:
        training: the scenario's section.
        device: where clients are trained.
        attempt: tries a plan.
        key: what the best plan depends on, besides the machine, the versions and the section.
        by_hand: whether the model's layers have gradients written by hand.
        workers: that share the memory.

    Raises:
        InputError: the scenario asks for clients together, and the model cannot be batched.
        RunError: the memory is too small.
    """
    if training.engine == "serial":
        return SERIAL
    layers = by_hand and training.precision != "bfloat16"
    kernels: list[Literal["layers", "vmap"]] = ["layers", "vmap"] if layers else ["vmap"]
    families = candidates(training.engine, kernels, device.type)
    if training.width is not None:
        families = [[replace(plans[0], width=training.width)] for plans in families if plans[0] != SERIAL]
    limit_bytes = budget(device) / workers if training.width is None else float("inf")  # who asks for a width gets it
    whole = {
        "edgefl": version("edgefl"),
        "torch": torch.__version__,
        "processor": processor(str(device)),
        **key,
        "training": f"{training.batch_size} {training.engine} {training.width} {training.precision}",
    }
    try:
        return remembered(whole, lambda: fastest(families, attempt, limit_bytes))
    except MemoryError:
        text = f"the memory of {device} is too small to train {training.width or 1} of the clients"
        raise RunError(text) from None
    except CannotBatchError as error:
        raise InputError(f"training.engine: batched: the model cannot be batched ({error}); use serial") from None


def source(module: nn.Module) -> str:
    """The program of a module's class, which a user may change under the same name; empty where there is no file."""
    try:
        return inspect.getsource(type(module))
    except (OSError, TypeError):
        return ""
