"""A worker pool of the machines of a Ray cluster; the tasks of a machine that is lost begin again elsewhere."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from edgefl.core.errors import InputError
from edgefl.runs.workers import Answer, Died, answered

RETRIES = 5  # of a task whose machine or process is lost
ANSWER_S = 5.0  # within which a cluster answers; Ray itself tries for many minutes
CANCEL_S = 10.0  # within which an interrupted task writes what it has

ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")  # host:port, the host in brackets if it is IPv6


class Cluster:
    """At most as many tasks at once as the cluster has CPUs, or GPUs, for; see `WorkerPool`.

    Args:
        work: called with each task; must be importable on all machines. Its files must lie where all machines see them,
            and it must go on with what it finds there.
        address: host:port of the head, or auto: that of RAY_ADDRESS, or of the cluster that this machine is part of.
        gpus: for each task, a part of one or whole ones; one if not given and the cluster has any.
        most: tasks at once.
        settings: environment variables of each task.

    Raises:
        InputError: Ray is not installed, nobody answers, or the cluster has no room for a task.
    """

    def __init__(
        self,
        work: Callable[[Any], Any],
        address: str,
        *,
        gpus: float | None = None,
        most: int | None = None,
        settings: Mapping[str, str],
    ) -> None:
        if gpus:
            is_part = 0 < gpus <= 1
            is_whole = gpus > 0 and gpus % 1 == 0
            if not is_part and not is_whole:
                raise InputError(f"--gpus-per-run {gpus:g}: must be a part of a GPU, such as 0.5, or whole ones")
        self._ray = _connected(address)
        self._work = work
        self._most = most
        if gpus is None:
            gpus = min(1.0, self._total("GPU"))
        self._gpus = gpus
        self._settings = dict(settings)
        if not self._gpus:
            # A run that was given no GPU must not train on one that others were given.
            self._settings["CUDA_VISIBLE_DEVICES"] = ""
        self._busy: dict[Any, int] = {}
        if self._capacity() < 1:
            self.close()
            needs = f"1 CPU and {self._gpus:g} GPU" if self._gpus else "1 CPU"
            text = f"a run takes {needs}, which the cluster does not have: let a machine join it first"
            raise InputError(f"--cluster {address}: {text}")
        self._serve = self._ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=RETRIES)(_serve)

    def _total(self, kind: str) -> float:
        """Return how many CPUs or GPUs all machines have that are in the cluster now."""
        return float(self._ray.cluster_resources().get(kind, 0.0))

    def _capacity(self) -> int:
        """Return how many tasks can run at once now; machines come and go."""
        count = self._total("CPU")
        if self._gpus:
            count = min(count, self._total("GPU") / self._gpus)
        if self._most is not None:
            count = min(count, self._most)
        return int(count)

    @property
    def room(self) -> bool:
        """True if another task can begin now; if all machines are gone, one task waits for a machine."""
        return not self._busy or len(self._busy) < self._capacity()

    @property
    def busy(self) -> bool:
        """True if any task is under way."""
        return bool(self._busy)

    def begin(self, number: int, task: Any) -> None:
        """Begin a task; there must be room."""
        self._busy[self._serve.remote(self._work, task, self._settings)] = number

    def answers(self) -> Iterator[Answer]:
        """Wait until at least one task ends, and return the answers of all that have ended."""
        ended, _ = self._ray.wait(list(self._busy))
        for one in ended:
            try:
                value = self._ray.get(one)
            # The work's own exceptions are values; this one is the cluster's, after the last retry.
            except self._ray.exceptions.RayError as error:
                value = Died(_reason(error))
            yield Answer(self._busy.pop(one), value)

    def close(self) -> None:
        """Leave the cluster; tasks that are under way end as an interrupt ends them."""
        if not self._ray.is_initialized():
            return
        under_way = list(self._busy)
        for one in under_way:
            self._ray.cancel(one)  # raises KeyboardInterrupt in the task, which then writes what it has
        if under_way:
            self._ray.wait(under_way, num_returns=len(under_way), timeout=CANCEL_S)
        self._busy = {}
        self._ray.shutdown()


def _serve(work: Callable[[Any], Any], task: Any, settings: Mapping[str, str]) -> Any:
    """Run a task on one of the machines."""
    os.environ.update(settings)
    return answered(work, task)


def _connected(address: str) -> Any:
    """Join a cluster, and return the module `ray`.

    Raises:
        InputError: in one line, why that is not possible.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise InputError("--cluster needs Ray, which is not installed: pip install 'edgefl[ray]'") from None
    named = address
    if address == "auto":
        named = os.environ.get("RAY_ADDRESS", "auto")
    if named != "auto":
        _check_address(named)  # Ray itself would try for minutes
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=named, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError:
        hint = "ray start --address HOST:PORT, or name its head"
        raise InputError(f"--cluster {address}: this machine is in no Ray cluster; {hint}") from None
    except (RuntimeError, ValueError) as error:
        raise InputError(f"--cluster {address}: {_on_one_line(str(error).splitlines())}") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_term)  # Ray's handler would end the program without a word
    return ray


def _check_address(address: str) -> None:
    """Check that somebody answers at an address.

    Raises:
        InputError: nobody does, or it is no address.
    """
    form = ADDRESS.fullmatch(address)
    if form is None:
        raise InputError(f"--cluster {address}: must be auto, or the host:port of a Ray cluster's head")
    host = form[1].strip("[]")
    port = int(form[2])
    try:
        socket.create_connection((host, port), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        hint = "is it running? (ray start --head)"
        raise InputError(f"--cluster {address}: nobody answers there ({error}); {hint}") from None


def _reason(error: Exception) -> str:
    """Return what Ray says about a task without an answer, on one line; a traceback says it in its last line."""
    lines = str(error).strip().splitlines()
    if "Traceback" in str(error):
        lines = lines[-1:]
    return _on_one_line(lines)


def _on_one_line(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())
