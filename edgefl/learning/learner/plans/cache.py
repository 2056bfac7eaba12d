"""Measured plans in files: for `training.engine: measured` a machine measures each kind of work once."""

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgefl.core.machine import processor_model
from edgefl.core.paths import cache_folder
from edgefl.learning.learner.plans.plan import Plan

log = logging.getLogger("edgefl")


def remembered(key: dict[str, Any], measure: Callable[[], Plan], possible: Collection[Plan]) -> Plan:
    """Return the plan in the cache, or measure and keep it if it is missing or not among the `possible` ones.

    If two processes measure at the same time, both take the plan of the first one. The `key` is all that the best plan
    depends on.
    """
    # the file is named by its key, so that other work, another machine or another version finds no file and measures
    text = json.dumps(key, sort_keys=True)
    path = folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    plan = _read(path, possible)
    if plan is not None:
        log.info("training plan: %s, measured before (%s)", plan, path)
        return plan
    plan = measure()
    log.info("training plan: %s, measured now", plan)
    try:
        return _kept(path, plan, possible, {"plan": asdict(plan), **key})
    except OSError as error:  # a read-only home must not keep a run from training
        text = "%s: the measured training plan cannot be kept: %s; the next run measures again, and may round otherwise"
        log.warning(text, path.parent, error.strerror)
        return plan


def _kept(path: Path, plan: Plan, possible: Collection[Plan], content: dict[str, Any]) -> Plan:
    """Write a plan's file, unless another process has written a good one meanwhile; return the plan that counts."""
    # written aside and then put in its place: no other process ever reads half a file
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
        try:
            # a hard link appears at once and whole, and fails if there is a file: a rename would replace it
            os.link(name, path)
        except FileExistsError:
            first = _read(path, possible)
            if first is not None:
                return first
            Path(name).replace(path)  # the other one is damaged
    finally:
        Path(name).unlink(missing_ok=True)
    return plan


def folder() -> Path:
    """Return the folder of the plans' files."""
    return cache_folder() / "plans"


def _read(path: Path, possible: Collection[Plan]) -> Plan | None:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["plan"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    for plan in possible:
        if asdict(plan) == entries:
            return plan
    return None


def processor(device: str) -> str:
    """Return the name of the processor that trains."""
    if device != "cpu":
        import torch

        return torch.cuda.get_device_name(device)
    return processor_model()
