"""How clients are trained on this machine: by which engine and kernel, how many together; measured once and kept.

The fastest way depends on the model, the processor and the libraries, so that it is tried rather than believed. A plan
is measured once for a machine and kept in a file: the same scenario then gives the same bytes on it, run after run.
Manifests name the plan that was used.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

log = logging.getLogger("edgefl")

WORTH = 0.95  # a plan must take less than this share of a simpler one's time to be preferred
WIDTHS = {"cpu": (1, 2, 4, 8, 16, 32), "cuda": (1, 4, 16, 64, 256, 1024)}


@dataclass(frozen=True)
class Plan:
    """One way to train."""

    engine: Literal["serial", "batched"]
    kernel: Literal["autograd", "layers", "vmap"]
    width: int  # clients that are trained together

    def __str__(self) -> str:
        return f"{self.engine}, {self.kernel}, {self.width} at once"


@dataclass(frozen=True)
class Trial:
    """What a plan took."""

    step_s: float  # for one step of one client
    client_bytes: float  # memory for one client


class CannotBatchError(Exception):
    """The module's forward pass branches on values, or does something else that torch.func.vmap does not allow."""


SERIAL = Plan("serial", "autograd", 1)


def candidates(engine: str, kernels: Iterable[Literal["layers", "vmap"]], device: str) -> list[list[Plan]]:
    """The plans that are worth a trial, simplest first; in each list the clients together grow."""
    grown = [[Plan("batched", kernel, width) for width in WIDTHS[device]] for kernel in kernels]
    return grown if engine == "batched" else [[SERIAL], *grown]


def fastest(families: list[list[Plan]], attempt: Callable[[Plan], Trial], limit_bytes: float) -> Plan:
    """The plan that took least; more clients together are tried for as long as that helps and memory allows.

    Args:
        families: as `candidates` lists them.
        attempt: tries a plan.
        limit_bytes: memory for the clients that are trained together.

    Raises:
        MemoryError: not even the first plan can be tried.
        CannotBatchError: the module can be trained by none of them.
    """
    best, best_s = families[0][0], float("inf")
    refused: CannotBatchError | None = None
    for family in families:
        previous_s = float("inf")
        for plan in family:
            try:
                trial = attempt(plan)
            except MemoryError:
                break
            except CannotBatchError as error:
                refused = error
                break
            log.debug("%s: %.3g s a step, %.3g MB a client", plan, trial.step_s, trial.client_bytes / 1e6)
            fits = plan.width == 1 or plan.width * trial.client_bytes <= limit_bytes
            if fits and trial.step_s < best_s * WORTH:
                best, best_s = plan, trial.step_s
            grows = 4 * plan.width * trial.client_bytes <= limit_bytes
            if not fits or not grows or trial.step_s > 1.3 * previous_s or trial.step_s > 3 * best_s:
                break
            previous_s = min(previous_s, trial.step_s)
    if best_s == float("inf"):
        raise refused or MemoryError
    return best


def remembered(key: dict[str, Any], measure: Callable[[], Plan]) -> Plan:
    """The plan in the cache; measured and put there where it is not. Of two at the same time the first one counts.

    Args:
        key: everything that the best plan depends on.
        measure: finds it.
    """
    text = json.dumps(key, sort_keys=True)
    path = folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    if (plan := _read(path)) is not None:
        return plan
    plan = measure()
    try:
        return _kept(path, plan, {"plan": asdict(plan), **key})
    except OSError as error:
        log.warning("%s: the measured training plan cannot be kept: %s", path.parent, error.strerror)
        return plan


def _kept(path: Path, plan: Plan, content: dict[str, Any]) -> Plan:
    """Write a plan's file, unless there is a good one meanwhile; the plan that counts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
        try:
            os.link(name, path)
        except FileExistsError:
            if (first := _read(path)) is not None:
                return first
            Path(name).replace(path)  # a damaged one
    finally:
        Path(name).unlink(missing_ok=True)
    return plan


def folder() -> Path:
    """Where plans are kept."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "edgefl" / "plans"


def _read(path: Path) -> Plan | None:
    """The plan of a file; None where there is none, or not a good one."""
    try:
        plan = Plan(**json.loads(path.read_text(encoding="utf-8"))["plan"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    good = plan.engine in {"serial", "batched"} and plan.kernel in {"autograd", "layers", "vmap"}
    return plan if good and isinstance(plan.width, int) and plan.width > 0 else None


def processor(device: str) -> str:
    """The name of the processor that trains."""
    if device != "cpu":
        import torch

        return torch.cuda.get_device_name(device)
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _lines(path: Path) -> Iterator[str]:
    try:
        yield from path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
